-- What agents keep over runs with toolsets of type memory. Runs do not need it; it stays when a run is pruned.
CREATE TABLE memories (
  n        INTEGER PRIMARY KEY AUTOINCREMENT, -- the id; never used again
  space    TEXT NOT NULL,                     -- whose: of a workflow and a toolset
  key      TEXT NOT NULL,                     -- idempotency key of the call that added it
  category TEXT NOT NULL,
  text     TEXT NOT NULL,
  at       TEXT NOT NULL,                     -- RFC 3339, UTC: when it was written last
  UNIQUE (space, key)
);

PRAGMA user_version = 5;
