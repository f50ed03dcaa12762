-- What both chains' events say, and what the model nodes add.  Rebuilt from the chains at any time.
-- Positions are packed (height << 32 | index), digests and addresses are blobs, times are in seconds.

CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- How far a contract's events were read, and a digest of them all, by which another history is noticed.
CREATE TABLE followed (source TEXT PRIMARY KEY, events INTEGER NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;

-- Transactions that emitted events.  `rest`: chunks of its proposal that it left to be executed.  `gas` and `time`
-- follow from the receipts.
CREATE TABLE sent (
    chain TEXT NOT NULL, hash BLOB NOT NULL, block INTEGER NOT NULL, proposal BLOB,
    rest INTEGER NOT NULL DEFAULT 0, gas INTEGER, time INTEGER, PRIMARY KEY (chain, hash)
) WITHOUT ROWID;
CREATE INDEX sent_without_gas ON sent (chain) WHERE gas IS NULL;
CREATE INDEX sent_of_proposal ON sent (proposal);

CREATE TABLE block (
    height INTEGER PRIMARY KEY, hash BLOB NOT NULL, merkle_root BLOB NOT NULL, models INTEGER NOT NULL,
    epoch INTEGER NOT NULL, sent BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 0
);

-- `row` counts from 0 in the order of positions; a graph file's arrays go by it.
-- `supersedes`: name of the model of which an adopter calls this one a later version.
CREATE TABLE model (
    position INTEGER PRIMARY KEY, row INTEGER NOT NULL UNIQUE, owner BLOB NOT NULL, version INTEGER NOT NULL,
    name TEXT, user INTEGER, round INTEGER, supersedes TEXT
);
CREATE INDEX model_supersedes ON model (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX model_name ON model (name COLLATE NOCASE);

-- On the chain, or added by a statement whose owner chose references again.  `kind`: of an adopted model's edge.
-- `needed`: whether an adopted merge says nothing without the reference.
CREATE TABLE reference (
    model INTEGER NOT NULL, reference INTEGER NOT NULL, kind TEXT, needed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (model, reference)
) WITHOUT ROWID;
CREATE INDEX reference_heirs ON reference (reference);

-- Live transactions that published or replaced models, in their order.
CREATE TABLE tick (number INTEGER PRIMARY KEY, sent BLOB NOT NULL UNIQUE);

-- `accuracy`: as the owner signed it of this version; null after members replaced the weights.
-- `checked`: how members checked the weights; null before a request, and of a withdrawn model.
-- `state`: 0 the node is not read yet, 1 it is, 2 it could not be (`problem`), and is tried again after `retry`.
CREATE TABLE version (
    position INTEGER NOT NULL, version INTEGER NOT NULL, uri BLOB NOT NULL, codec INTEGER NOT NULL,
    tick INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, problem TEXT, retry REAL,
    accuracy REAL, ad_f REAL, ad_r REAL, at_chance INTEGER NOT NULL DEFAULT 0,
    logit_auc REAL, ad_f_before REAL, ad_r_before REAL, logit_auc_before REAL, is_loss INTEGER NOT NULL DEFAULT 0,
    withdrawn INTEGER NOT NULL DEFAULT 0, checked TEXT, request BLOB,
    PRIMARY KEY (position, version)
) WITHOUT ROWID;
CREATE INDEX version_unread ON version (state) WHERE state <> 1;
CREATE INDEX version_request ON version (request) WHERE request IS NOT NULL;
CREATE INDEX version_tick ON version (tick);

-- Versions with the live transaction that made them.
CREATE VIEW made AS
SELECT version.*, tick.sent, sent.block, sent.time, sent.gas, sent.proposal, sent.rest FROM version
JOIN tick ON tick.number = version.tick JOIN sent ON sent.chain = 'live' AND sent.hash = tick.sent;

CREATE TABLE record (
    number INTEGER PRIMARY KEY, position INTEGER NOT NULL, version INTEGER NOT NULL, reason INTEGER NOT NULL,
    uri BLOB NOT NULL, codec INTEGER NOT NULL, time INTEGER NOT NULL, sent BLOB NOT NULL
);
CREATE INDEX record_position ON record (position, version);

-- Quorum certificates as the archive logged them; `voters` in hexadecimal, bit i for member i.
CREATE TABLE certificate (
    proposal BLOB PRIMARY KEY, epoch INTEGER NOT NULL, voters TEXT NOT NULL, content BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE request (
    key BLOB PRIMARY KEY, document TEXT NOT NULL, paradigm TEXT NOT NULL, method TEXT NOT NULL,
    created INTEGER NOT NULL
) WITHOUT ROWID;

-- `height`: of the live chain when it was filed.  `decision`: 'admitted', up to a deadline, or 'dismissed'.
CREATE TABLE filing (
    number INTEGER PRIMARY KEY, account BLOB NOT NULL, uri BLOB NOT NULL, codec INTEGER NOT NULL,
    height INTEGER NOT NULL, sent BLOB NOT NULL, decision TEXT, deadline INTEGER, decided BLOB, request BLOB,
    state INTEGER NOT NULL DEFAULT 0, problem TEXT, retry REAL
);

CREATE TABLE part (
    id INTEGER PRIMARY KEY, filing INTEGER NOT NULL, position INTEGER NOT NULL, account BLOB NOT NULL,
    uri BLOB NOT NULL, codec INTEGER NOT NULL, sent BLOB NOT NULL
);
CREATE INDEX part_filing ON part (filing);

CREATE TABLE participant (account BLOB PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE endpoint (account BLOB PRIMARY KEY, key BLOB NOT NULL, url TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE epoch (
    chain TEXT NOT NULL, number INTEGER NOT NULL, key_id BLOB NOT NULL, members TEXT NOT NULL,
    quorum INTEGER NOT NULL, threshold INTEGER NOT NULL, sent BLOB NOT NULL, PRIMARY KEY (chain, number)
) WITHOUT ROWID;

-- Everything else that the contracts logged: joining, elections, trust, slashes, alarms, changes of the file.
CREATE TABLE happening (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL,
    chain TEXT NOT NULL, sent BLOB NOT NULL
);
