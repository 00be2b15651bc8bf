-- The journal. Ids, names and kinds of runs are bytea: they may hold any bytes, and text has no NUL and only valid UTF-8. Times are µs since 1970; 0 is none.

-- Every row of a run names it by a number, never by its id. A number is not used again, so that what a process remembers of a pruned run cannot be taken for another run.
CREATE TABLE runs (
  id         bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run        bytea   NOT NULL UNIQUE,
  created    bigint  NOT NULL,
  status     text    COLLATE "C" NOT NULL,
  waiting    integer NOT NULL,
  ended      bigint  NOT NULL,
  workflow   bytea   NOT NULL,
  name       bytea   NOT NULL,
  format     bytea   NOT NULL,
  parent     bytea   NOT NULL,
  kind       bytea   NOT NULL,
  definition bytea,                          -- hash
  meta       bytea,                          -- a JSON object of strings
  session    bytea   NOT NULL,
  place      bytea   NOT NULL,               -- where the run can go on; empty: anywhere
  branch     bytea   NOT NULL DEFAULT '',
  cause      bytea   NOT NULL DEFAULT '',    -- what began the run
  labels     bytea,                          -- a JSON object of strings
  preview    bytea   NOT NULL DEFAULT '',    -- the beginning of the input
  -- What the run had used when it paused or ended, and why it failed.
  tokens     bigint  NOT NULL DEFAULT 0,
  calls      bigint  NOT NULL DEFAULT 0,
  cost       bigint  NOT NULL DEFAULT 0,     -- 10^-12 USD
  code       bytea   NOT NULL DEFAULT '',
  message    bytea   NOT NULL DEFAULT ''
);
CREATE INDEX runs_created  ON runs (created, id);
CREATE INDEX runs_status   ON runs (status, created, id);
CREATE INDEX runs_workflow ON runs (workflow, status, created, id);
CREATE INDEX runs_kind     ON runs (kind, status, created, id);
-- Of the runs of one session at most one has not ended (P19): the index decides between several that would begin.
CREATE UNIQUE INDEX runs_open_session ON runs (session) WHERE session <> '' AND status IN ('pending', 'running', 'paused');
CREATE INDEX runs_session ON runs (session, created, id) WHERE session <> '';
CREATE INDEX runs_ended   ON runs (ended, id) WHERE ended <> 0;
CREATE INDEX runs_parent  ON runs (parent, created, id) WHERE parent <> '';

-- Labels of runs, in the order of lists.
CREATE TABLE labels (
  key     text   COLLATE "C" NOT NULL,
  value   text   COLLATE "C" NOT NULL,
  created bigint NOT NULL,                   -- of the run
  run     bigint NOT NULL,                   -- runs.id
  PRIMARY KEY (key, value, created, run)
);
CREATE INDEX labels_run ON labels (run, key, value);

-- Words of the input, output and error of each run that has any, as journal.Texts encodes them: of the letters a to z, which no parser changes.
CREATE TABLE texts (
  run  bigint PRIMARY KEY,                   -- runs.id
  text text   COLLATE "C" NOT NULL
);
CREATE INDEX texts_words ON texts USING gin (to_tsvector('pg_catalog.simple', text));

-- What changes with every append, apart from what seldom does. Half of each page is free, so that a new version of a row stays on the page of the old one, and no index changes.
CREATE TABLE heads (
  id      bigint PRIMARY KEY REFERENCES runs,
  epoch   bigint NOT NULL,
  owner   bigint NOT NULL,                   -- owners.id; 0 is none; -2: none, and the run can go on; -3: likewise, and no open call has begun
  last    bigint NOT NULL,
  seal    bytea  NOT NULL,                   -- that of the last record
  updated bigint NOT NULL
) WITH (fillfactor = 50);
-- An append does not change the owner, so that the index does not keep its new row from the page of the old one. It has the runs that processes drive, those of dead ones, and those that wait to be claimed.
CREATE INDEX heads_owner ON heads (owner) WHERE owner <> 0;

-- A run's records are read by a range of the primary key. The first event of a record is the one after the last of the record before.
CREATE TABLE records (
  run  bigint NOT NULL,                      -- runs.id
  last bigint NOT NULL,
  seal bytea  NOT NULL,                      -- version byte, 16 bytes of checksum
  data bytea  NOT NULL,
  PRIMARY KEY (run, last)
) PARTITION BY HASH (run);
CREATE TABLE records_0 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE records_1 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE records_2 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE records_3 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE records_4 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE records_5 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE records_6 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE records_7 PARTITION OF records FOR VALUES WITH (MODULUS 8, REMAINDER 7);

-- Pruned runs whose records wait to be deleted.
CREATE TABLE trash (
  run bigint PRIMARY KEY
);

CREATE TABLE blobs (
  id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea  NOT NULL UNIQUE,
  data bytea  NOT NULL
);
-- A hold keeps its blob: a blob that is held anew while a prune deletes it makes one of the two fail, which is done again.
CREATE TABLE holds (
  run  bigint NOT NULL,
  blob bigint NOT NULL REFERENCES blobs,
  PRIMARY KEY (run, blob)
);
CREATE INDEX holds_blob ON holds (blob);

-- An owner lives as long as a session holds the advisory lock with the number of the schema and its own.
CREATE TABLE owners (
  id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner text    NOT NULL UNIQUE,
  kind  bytea   NOT NULL,
  pid   bigint  NOT NULL,
  host  bytea   NOT NULL,                    -- the machine of those who drive runs (D15)
  seen  bigint  NOT NULL,                    -- their last sign of life by their own clock; 0 is never
  place bytea   NOT NULL                     -- where they continue runs of others; empty: nowhere
);

-- The owner of active runs that all processes hold in common. It always lives.
INSERT INTO owners (id, owner, kind, pid, host, seen, place) OVERRIDING SYSTEM VALUE VALUES (-1, 'temporal', 'temporal', 0, '', 0, '');

CREATE TABLE inbox (
  id     bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run    bigint  NOT NULL,
  kind   bytea   NOT NULL,
  data   bytea   NOT NULL,
  posted bigint  NOT NULL,
  taken  integer NOT NULL,                   -- owners.id; 0 is none
  done   boolean NOT NULL,
  result bytea
);
CREATE INDEX inbox_run  ON inbox (run);
CREATE INDEX inbox_open ON inbox (run) WHERE NOT done;

-- Events of runs of which others are notified, in the order of commits over all runs.
CREATE TABLE notices (
  id   bigint PRIMARY KEY,                   -- from notice_counter
  run  bigint NOT NULL,
  seq  bigint NOT NULL,
  type bytea  NOT NULL,
  at   bigint NOT NULL
);
CREATE INDEX notices_run ON notices (run);
-- The number of the last notice. An append locks the row until its commit, so that a notice with a greater number is committed later: a reader that remembers the last one that it saw misses none.
CREATE TABLE notice_counter (
  id   integer PRIMARY KEY CHECK (id = 1),
  last bigint  NOT NULL
);
INSERT INTO notice_counter (id, last) VALUES (1, 0);

-- Places in queues that processes have in common, in their order: the requests that wait for a session. A place of a dead owner counts for nothing.
CREATE TABLE lines (
  id    bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind  integer NOT NULL,
  name  bytea   NOT NULL,
  owner integer NOT NULL,                    -- owners.id
  token text    NOT NULL                     -- by which the owner finds a place again whose number it was not told
);
CREATE INDEX lines_name ON lines (kind, name, id);

-- Runs that may only go on while few others of a name do, in the order in which they asked for a slot.
CREATE TABLE slots (
  id       bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name     bytea   NOT NULL,
  run      bytea   NOT NULL UNIQUE,          -- runs.run, which need not be there yet
  max      integer NOT NULL,
  admitted boolean NOT NULL DEFAULT false,   -- the run has a slot, until it has ended
  owner    bigint  NOT NULL                  -- owners.id of the process that vouches for the run; 0 is none
);
CREATE INDEX slots_name ON slots (sha256(name), admitted, id);

-- Where the schedule of each branch stands (P37).
CREATE TABLE schedules (
  program        bytea   NOT NULL,           -- that has the graph; empty for stored workflows
  workflow       bytea   NOT NULL,           -- id of the stored workflow, name of the graph
  branch         bytea   NOT NULL,           -- empty for the main graph
  schedule       bytea   NOT NULL,           -- empty for one without an id
  version        bigint  NOT NULL,
  mode           bytea   NOT NULL,
  spec           bytea   NOT NULL,
  time_zone      bytea   NOT NULL,
  registered     bigint  NOT NULL,
  planned        bigint  NOT NULL,
  catch_up_after bigint  NOT NULL,
  catch_up_to    bigint  NOT NULL,
  run            bytea   NOT NULL,           -- the last one that was started
  asked          bigint  NOT NULL,           -- runs that were asked for up to then are done with
  refused        bigint  NOT NULL,           -- since when its runs are refused; 0: the last start was accepted
  refusal        bytea   NOT NULL,           -- why
  PRIMARY KEY (program, workflow, branch, schedule)
);

-- What people said of schedules. Rows stay when the schedule goes: a pause holds for each version.
CREATE TABLE schedule_controls (
  program    bytea   NOT NULL,
  workflow   bytea   NOT NULL,
  branch     bytea   NOT NULL,
  schedule   bytea   NOT NULL,
  revision   bigint  NOT NULL,               -- of the row, which writers replace
  paused     bigint  NOT NULL,               -- since when; 0: not
  paused_by  bytea   NOT NULL,
  resumed    bigint  NOT NULL,
  resumed_by bytea   NOT NULL,
  skip_after bigint  NOT NULL,
  skip_until bigint  NOT NULL,
  skipped_by bytea   NOT NULL,
  asked      bigint  NOT NULL,               -- when a run was asked for
  asked_by   bytea   NOT NULL,
  PRIMARY KEY (program, workflow, branch, schedule)
);

-- The process that starts scheduled runs of stored workflows, and those of each program.
CREATE TABLE schedule_leader (
  program bytea   NOT NULL PRIMARY KEY,      -- empty for stored workflows
  owner   integer NOT NULL                   -- owners.id
);
