-- States of runs of Go graphs under labels (S2-65). Runs do not need them; they stay when a run is pruned.
CREATE TABLE checkpoints (
  n         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the highest of a run is the newest
  execution text COLLATE "C" NOT NULL,
  label     text COLLATE "C" NOT NULL,
  hash      bytea            NOT NULL,         -- SHA-256 of state
  state     bytea            NOT NULL,         -- JSON
  UNIQUE (execution, label)
);
CREATE INDEX checkpoints_order ON checkpoints (execution, n);

-- See catalog_turn.
CREATE TABLE checkpoints_turn ();
