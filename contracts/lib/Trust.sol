// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Beta reputation (Ganeriwal and Srivastava 2008), the mean of Beta(good + 1, bad + 1)
library Trust {
    /// @dev One, in parts per million.
    uint256 internal constant ONE = 1_000_000;

    /// @dev Maximum number of experiences that count.
    uint32 internal constant MEMORY = 100;

    /// @notice floor(10^6 (good + 1) / (good + bad + 2)); a newcomer has 500,000.
    function score(uint256 good, uint256 bad) internal pure returns (uint256) {
        return ONE * (good + 1) / (good + bad + 2);
    }

    /// @notice Counts after new experiences of one kind; beyond MEMORY they displace experiences of the other kind.
    /// @dev Pre: good + bad <= MEMORY, newGood = 0 or newBad = 0. Post: good' + bad' <= MEMORY; good experiences do not
    /// lower the score, and bad ones do not raise it.
    function remember(uint32 good, uint32 bad, uint32 newGood, uint32 newBad) internal pure returns (uint32, uint32) {
        good = _least(good + newGood, MEMORY);
        bad = _least(bad + newBad, MEMORY);
        return newBad == 0 ? (good, _least(bad, MEMORY - good)) : (_least(good, MEMORY - bad), bad);
    }

    function _least(uint32 a, uint32 b) private pure returns (uint32) {
        return a < b ? a : b;
    }
}
