-- Every row of a run names it by a small number, never by its id. AUTOINCREMENT: a number is not used again, so that what a process
-- remembers of a pruned run cannot be taken for another run.
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  run        TEXT    NOT NULL UNIQUE,
  created    INTEGER NOT NULL,              -- µs since 1970, as all times; 0 is none
  status     TEXT    NOT NULL,
  waiting    INTEGER NOT NULL,
  ended      INTEGER NOT NULL,
  workflow   TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  format     TEXT    NOT NULL,
  parent     TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  definition BLOB,                          -- hash
  meta       TEXT                           -- a JSON object of strings
);
CREATE INDEX runs_created  ON runs (created);
CREATE INDEX runs_status   ON runs (status, created);
CREATE INDEX runs_workflow ON runs (workflow, status, created);
CREATE INDEX runs_parent   ON runs (parent, created) WHERE parent <> '';

-- What changes with every append, apart from what seldom does: rows so small that those of 1,000 busy runs share a dozen pages.
CREATE TABLE heads (
  id      INTEGER PRIMARY KEY,              -- runs.id
  epoch   INTEGER NOT NULL,
  owner   INTEGER NOT NULL,                 -- owners.id; 0 is none
  last    INTEGER NOT NULL,
  seal    BLOB    NOT NULL,                 -- that of the last record
  record  INTEGER NOT NULL,                 -- records.id of the last record
  updated INTEGER NOT NULL
);

-- Records of all runs in the order in which they were written, so that an append only touches the end of the table. A run's records are a
-- chain from heads.record back over prev; prev is always smaller than id.
CREATE TABLE records (
  id   INTEGER PRIMARY KEY,
  run  INTEGER NOT NULL,
  prev INTEGER NOT NULL,                    -- 0 for the first
  last INTEGER NOT NULL,                    -- its first event is the one after prev's last
  seal BLOB    NOT NULL,                    -- version byte, 16 bytes of checksum
  data BLOB    NOT NULL
);

-- Chains of pruned runs that wait to be deleted, by their last record.
CREATE TABLE trash (
  record INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL
);

CREATE TABLE blobs (
  id   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  data BLOB NOT NULL
);
CREATE TABLE holds (
  run  INTEGER NOT NULL,
  blob INTEGER NOT NULL,
  PRIMARY KEY (run, blob)
) WITHOUT ROWID;
CREATE INDEX holds_blob ON holds (blob);

CREATE TABLE snapshots (
  run     INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  version INTEGER NOT NULL,
  sum     BLOB    NOT NULL,
  data    BLOB    NOT NULL
);

CREATE TABLE owners (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  owner TEXT    NOT NULL UNIQUE,
  kind  TEXT    NOT NULL,
  pid   INTEGER NOT NULL
);

CREATE TABLE inbox (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  data   BLOB    NOT NULL,
  posted INTEGER NOT NULL,
  taken  INTEGER NOT NULL,                  -- owners.id; 0 is nobody
  done   INTEGER NOT NULL,
  result BLOB
);
CREATE INDEX inbox_run  ON inbox (run);
CREATE INDEX inbox_open ON inbox (run) WHERE done = 0;

PRAGMA user_version = 1;
