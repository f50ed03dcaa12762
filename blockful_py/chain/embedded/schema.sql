-- SPDX-License-Identifier: Apache-2.0
-- An embedded chain.  Every block is one transaction of SQLite, so that a crash leaves whole blocks.

CREATE TABLE chain (
    id INTEGER NOT NULL,
    ahead INTEGER NOT NULL  -- seconds that the chain's clock is ahead of the machine's
);

-- Nodes of the state's tries and codes of contracts, by their keccak256; of all blocks, so that old states
-- can be read.
CREATE TABLE nodes (
    hash BLOB PRIMARY KEY,
    content BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE blocks (
    number INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    header BLOB NOT NULL,  -- RLP
    ahead INTEGER NOT NULL
);

-- One in a block at most.
CREATE TABLE transactions (
    hash BLOB PRIMARY KEY,
    block INTEGER NOT NULL UNIQUE REFERENCES blocks ON DELETE CASCADE,
    document TEXT NOT NULL,  -- as JSON-RPC has it
    receipt TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE logs (
    block INTEGER NOT NULL REFERENCES blocks ON DELETE CASCADE,
    position INTEGER NOT NULL,
    address BLOB NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (address, block, position)
) WITHOUT ROWID;
CREATE INDEX logs_of_block ON logs (block);
