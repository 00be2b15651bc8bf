-- States of runs of Go graphs under labels (S2-65). Runs do not need them; they stay when a run is pruned.
CREATE TABLE checkpoints (
  n         INTEGER PRIMARY KEY,            -- the highest of a run is the newest
  execution TEXT NOT NULL,
  label     TEXT NOT NULL,
  hash      BLOB NOT NULL,                  -- SHA-256 of state
  state     BLOB NOT NULL,                  -- JSON
  UNIQUE (execution, label)
);
CREATE INDEX checkpoints_order ON checkpoints (execution, n);

PRAGMA user_version = 4;
