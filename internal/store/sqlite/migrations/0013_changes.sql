-- What moves where no record or notice is added, so that waiters in other processes see it: one row.
CREATE TABLE changes (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  requests INTEGER NOT NULL,                  -- requests that were posted or settled
  owners   INTEGER NOT NULL                   -- runs that were claimed, released or pruned
);
INSERT INTO changes (id, requests, owners) VALUES (1, 0, 0);

PRAGMA user_version = 13;
