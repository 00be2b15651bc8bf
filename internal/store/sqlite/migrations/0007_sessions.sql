-- Of the runs of one session at most one has not ended (P19): the index decides between several that would begin.
ALTER TABLE runs ADD COLUMN session TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX runs_open_session ON runs (session) WHERE session <> '' AND status IN ('pending', 'running', 'paused');
CREATE INDEX runs_session ON runs (session, created) WHERE session <> '';

-- What others are to be told of runs, in the order of commits over all runs. AUTOINCREMENT: a number is never used again, so that a reader who remembers the last one that
-- it saw misses nothing.
CREATE TABLE notices (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  INTEGER NOT NULL,                    -- runs.id
  seq  INTEGER NOT NULL,                    -- of the event
  type TEXT    NOT NULL,                    -- of the event
  at   INTEGER NOT NULL
);
CREATE INDEX notices_run ON notices (run);

PRAGMA user_version = 7;
