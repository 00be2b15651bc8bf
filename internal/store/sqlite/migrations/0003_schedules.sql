-- Where the schedule of each branch stands (P37). Times are µs since 1970; 0 is none.
CREATE TABLE schedules (
  workflow       TEXT    NOT NULL,          -- id of the stored workflow
  branch         TEXT    NOT NULL,          -- empty for the main graph
  version        INTEGER NOT NULL,
  mode           TEXT    NOT NULL,
  spec           TEXT    NOT NULL,
  time_zone      TEXT    NOT NULL,
  registered     INTEGER NOT NULL,
  planned        INTEGER NOT NULL,
  catch_up_after INTEGER NOT NULL,
  catch_up_to    INTEGER NOT NULL,
  run            TEXT    NOT NULL,          -- the last one that was started
  PRIMARY KEY (workflow, branch)
) WITHOUT ROWID;

-- Who minds the schedules: one row at most.
CREATE TABLE schedule_leader (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  owner TEXT    NOT NULL,                   -- as in owners, whose rows go when nobody owns a run
  kind  TEXT    NOT NULL,
  pid   INTEGER NOT NULL
);

PRAGMA user_version = 3;
