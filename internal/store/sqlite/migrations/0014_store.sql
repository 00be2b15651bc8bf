-- A run is folded from its events: no state of the engine is stored beside them.

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
  meta       TEXT,                          -- a JSON object of strings
  session    TEXT    NOT NULL DEFAULT '',
  place      TEXT    NOT NULL DEFAULT '',   -- where the run can go on; empty: anywhere
  branch     TEXT    NOT NULL DEFAULT '',
  cause      TEXT    NOT NULL DEFAULT '',   -- what began the run
  labels     TEXT,                          -- a JSON object of strings
  preview    TEXT    NOT NULL DEFAULT '',   -- the beginning of the input
  -- What the run had used when it paused or ended, and why it failed.
  tokens     INTEGER NOT NULL DEFAULT 0,
  calls      INTEGER NOT NULL DEFAULT 0,
  cost       INTEGER NOT NULL DEFAULT 0,    -- 10^-12 USD
  code       TEXT    NOT NULL DEFAULT '',
  message    TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX runs_created  ON runs (created);
CREATE INDEX runs_status   ON runs (status, created);
-- Counts are read from this index alone, in the order in which they are grouped. It is that of lists by workflow, too.
CREATE INDEX runs_tally    ON runs (workflow, status, cause, format, created);
-- Of the runs of one session at most one has not ended (P19): the index decides between several that would begin.
CREATE UNIQUE INDEX runs_open_session ON runs (session) WHERE session <> '' AND status IN ('pending', 'running', 'paused');
CREATE INDEX runs_session ON runs (session, created) WHERE session <> '';
CREATE INDEX runs_parent   ON runs (parent, created) WHERE parent <> '';

-- Labels of runs, in the order of lists.
CREATE TABLE labels (
  key     TEXT    NOT NULL,
  value   TEXT    NOT NULL,
  created INTEGER NOT NULL,                 -- of the run
  run     INTEGER NOT NULL,                 -- runs.id
  PRIMARY KEY (key, value, created, run)
) WITHOUT ROWID;
CREATE INDEX labels_run ON labels (run, key, value);

-- Words of the input, output and error of each run that has any, as journal.Texts encodes them, and the index of them.
CREATE TABLE texts (
  run   INTEGER PRIMARY KEY,                -- runs.id
  text  TEXT    NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(text, content = 'texts', content_rowid = 'run', tokenize = 'ascii', columnsize = 0);
CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
  INSERT INTO words (rowid, text) VALUES (NEW.run, NEW.text);
END;
CREATE TRIGGER texts_dropped AFTER DELETE ON texts BEGIN
  INSERT INTO words (words, rowid, text) VALUES ('delete', OLD.run, OLD.text);
END;
CREATE TRIGGER texts_changed AFTER UPDATE ON texts BEGIN
  INSERT INTO words (words, rowid, text) VALUES ('delete', OLD.run, OLD.text);
  INSERT INTO words (rowid, text) VALUES (NEW.run, NEW.text);
END;

-- What changes with every append, apart from what seldom does: rows so small that those of 1,000 busy runs share a dozen pages.
CREATE TABLE heads (
  id      INTEGER PRIMARY KEY,              -- runs.id
  epoch   INTEGER NOT NULL,
  owner   INTEGER NOT NULL,                 -- owners.id; 0 is none; -2: none, and the run can go on; -3: likewise, and no open call has begun
  last    INTEGER NOT NULL,
  seal    BLOB    NOT NULL,                 -- that of the last record
  record  INTEGER NOT NULL,                 -- records.id of the last record
  updated INTEGER NOT NULL
);
-- Only runs that wait to be claimed.
CREATE INDEX heads_waiting ON heads (owner) WHERE owner < 0;

-- Records of all runs in the order in which they were written, so that an append only touches the end of the table. A run's records are a
-- chain from heads.record back over prev. last grows along it; id does so too until pruning moves records together.
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

CREATE TABLE owners (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  owner TEXT    NOT NULL UNIQUE,
  kind  TEXT    NOT NULL,
  pid   INTEGER NOT NULL,
  host  TEXT    NOT NULL DEFAULT '',         -- the machine of those who drive runs (D15)
  seen  INTEGER NOT NULL DEFAULT 0,         -- their last sign of life by their own clock; 0 is never
  place TEXT    NOT NULL DEFAULT ''          -- where they continue runs of others; empty: nowhere
);

CREATE TABLE inbox (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  run    INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  data   BLOB    NOT NULL,
  posted INTEGER NOT NULL,
  taken  INTEGER NOT NULL,                  -- owners.id; 0 is none
  done   INTEGER NOT NULL,
  result BLOB
);
CREATE INDEX inbox_run  ON inbox (run);
CREATE INDEX inbox_open ON inbox (run) WHERE done = 0;

-- Events of runs of which others are notified, in the order of commits over all runs. AUTOINCREMENT: a number is never used again, so that a reader who remembers the last one that
-- it saw misses nothing.
CREATE TABLE notices (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  INTEGER NOT NULL,                    -- runs.id
  seq  INTEGER NOT NULL,                    -- of the event
  type TEXT    NOT NULL,                    -- of the event
  at   INTEGER NOT NULL
);
CREATE INDEX notices_run ON notices (run);

-- What moves where no record or notice is added, so that waiters in other processes see it: one row.
CREATE TABLE changes (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  requests INTEGER NOT NULL,                  -- requests that were posted or settled
  owners   INTEGER NOT NULL,                  -- runs that were claimed, released or pruned
  lines    INTEGER NOT NULL                   -- places in lines that were taken or given up
);
INSERT INTO changes (id, requests, owners, lines) VALUES (1, 0, 0, 0);

-- Places in queues that processes have in common, in their order: of requests that wait for a session, of processes that use a key of a provider. AUTOINCREMENT: a place is
-- never taken again.
CREATE TABLE lines (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  kind  INTEGER NOT NULL,
  name  TEXT    NOT NULL,
  owner INTEGER NOT NULL                      -- owners.id
);
CREATE INDEX lines_name ON lines (kind, name);

-- Runs that may only go on while few others of a name do, in the order in which they asked for a slot.
CREATE TABLE slots (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT    NOT NULL,
  run      TEXT    NOT NULL UNIQUE,         -- runs.run, which need not be there yet
  max      INTEGER NOT NULL,
  admitted INTEGER NOT NULL DEFAULT 0,      -- 1: the run has a slot, until it has ended
  owner    INTEGER NOT NULL                 -- owners.id of the process that vouches for the run; 0 is none
);
CREATE INDEX slots_name ON slots (name, admitted, id);

-- Stored agents and workflows. These tables are for any program to read and write; docs/catalog.md tells what they mean. Rows of nodes and edges
-- are in the order of their rowid.
--
-- Nothing refers to nodes or agents by a foreign key: an edge may lead to a node that does not exist (S3-8), and an agent may come from beside the
-- catalog. The others are checked at the end of a transaction, where a program asks for it, and delete nothing by themselves.
CREATE TABLE agents (
  id              TEXT NOT NULL PRIMARY KEY,
  name            TEXT,
  description     TEXT,
  "systemPrompt"  TEXT,
  model           TEXT,
  tools           TEXT,                       -- a JSON list of names
  definition      TEXT                        -- keys of the agent that have no column: a JSON object. NULL: none
);

CREATE TABLE agent_workflows (
  id                   TEXT    NOT NULL PRIMARY KEY,
  name                 TEXT,
  description          TEXT,
  "isConversational"   INTEGER DEFAULT 0,
  "entrypointNodeId"   TEXT,
  routing              TEXT,
  "humanHandoff"       TEXT,
  "maxSteps"           INTEGER,
  "timeoutMs"          INTEGER,
  agents               TEXT                   -- the workflow's own agents: a JSON list as in documents
);
CREATE TABLE agent_workflow_nodes (
  id            TEXT NOT NULL,
  "workflowId"  TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  "nodeType"    TEXT NOT NULL,
  "nodeName"    TEXT,
  "agentId"     TEXT,
  prompt        TEXT,
  PRIMARY KEY ("workflowId", id)
);
CREATE TABLE agent_workflow_edges (
  id                TEXT,
  "workflowId"      TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  "sourceNodeId"    TEXT NOT NULL,
  "targetNodeId"    TEXT,                     -- NULL ends the run
  "conditionType"   TEXT NOT NULL,
  "conditionValue"  TEXT,
  UNIQUE ("workflowId", id)
);

-- Documents as they were written. A version never changes, and its number is not used again. Times are µs since 1970.
CREATE TABLE workflow_documents (
  id        TEXT    NOT NULL PRIMARY KEY,
  published INTEGER NOT NULL,               -- the version that runs; 0 is none
  draft     INTEGER NOT NULL,               -- the version that is worked on; 0 is none
  latest    INTEGER NOT NULL,
  updated   INTEGER NOT NULL
);
CREATE TABLE workflow_versions (
  workflow_id TEXT    NOT NULL,
  version     INTEGER NOT NULL,
  format      TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  file        TEXT    NOT NULL,             -- what it was called where it came from
  digest      TEXT    NOT NULL,             -- of the graph; empty where agents were missing
  hash        BLOB    NOT NULL,             -- SHA-256 of text
  created     INTEGER NOT NULL,
  text        BLOB    NOT NULL,
  labels      TEXT    NOT NULL,             -- of the document, as a JSON object; empty for none
  PRIMARY KEY (workflow_id, version)
);

-- Where people have put the nodes of a workflow, for all its versions.
CREATE TABLE workflow_layouts (
  workflow_id TEXT NOT NULL PRIMARY KEY,
  layout      BLOB NOT NULL
);

-- Where the schedule of each branch stands (P37). Times are µs since 1970; 0 is none.
CREATE TABLE schedules (
  program        TEXT    NOT NULL,          -- that has the graph; empty for stored workflows
  workflow       TEXT    NOT NULL,          -- id of the stored workflow, name of the graph
  branch         TEXT    NOT NULL,          -- empty for the main graph
  schedule       TEXT    NOT NULL,          -- empty for one without an id
  version        INTEGER NOT NULL,
  mode           TEXT    NOT NULL,
  spec           TEXT    NOT NULL,
  time_zone      TEXT    NOT NULL,
  registered     INTEGER NOT NULL,
  planned        INTEGER NOT NULL,
  catch_up_after INTEGER NOT NULL,
  catch_up_to    INTEGER NOT NULL,
  run            TEXT    NOT NULL,          -- the last one that was started
  asked          INTEGER NOT NULL,          -- runs that were asked for up to then are done with
  refused        INTEGER NOT NULL,          -- since when its runs are refused; 0: the last start was accepted
  refusal        TEXT    NOT NULL,          -- why
  PRIMARY KEY (program, workflow, branch, schedule)
) WITHOUT ROWID;

-- What people said of schedules. Rows stay when the schedule goes: a pause holds for each version.
CREATE TABLE schedule_controls (
  program    TEXT    NOT NULL,
  workflow   TEXT    NOT NULL,
  branch     TEXT    NOT NULL,
  schedule   TEXT    NOT NULL,
  revision   INTEGER NOT NULL,              -- of the row, which writers replace
  paused     INTEGER NOT NULL,              -- since when; 0: not
  paused_by  TEXT    NOT NULL,
  resumed    INTEGER NOT NULL,
  resumed_by TEXT    NOT NULL,
  skip_after INTEGER NOT NULL,
  skip_until INTEGER NOT NULL,
  skipped_by TEXT    NOT NULL,
  asked      INTEGER NOT NULL,              -- when a run was asked for
  asked_by   TEXT    NOT NULL,
  PRIMARY KEY (program, workflow, branch, schedule)
) WITHOUT ROWID;

-- The process that starts scheduled runs of stored workflows, and those of each program.
CREATE TABLE schedule_leader (
  program TEXT    NOT NULL PRIMARY KEY,     -- empty for stored workflows
  owner   TEXT    NOT NULL,                 -- as in owners, whose rows are deleted when the owner has no run
  kind    TEXT    NOT NULL,
  pid     INTEGER NOT NULL
) WITHOUT ROWID;

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

-- What agents keep over runs with toolsets of type memory. Runs do not need it; it stays when a run is pruned.
CREATE TABLE memories (
  n        INTEGER PRIMARY KEY AUTOINCREMENT, -- the id; never used again
  space    TEXT NOT NULL,                     -- of a workflow and a toolset
  key      TEXT NOT NULL,                     -- idempotency key of the call that added it
  category TEXT NOT NULL,
  text     TEXT NOT NULL,
  at       TEXT NOT NULL,                     -- RFC 3339, UTC: when it was written last
  UNIQUE (space, key)
);

-- Tokens, and the audit log of a server. Only the store of the namespace `default` has rows here. Times are µs since 1970; 0 is none.
CREATE TABLE namespaces (
  name    TEXT    PRIMARY KEY,              -- all but `default`
  created INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE access_tokens (
  n         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash      BLOB    NOT NULL UNIQUE,        -- SHA-256 of the text, which is not stored (SEC2)
  namespace TEXT    NOT NULL,
  id        TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  role      TEXT    NOT NULL,
  approve   INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL,
  used      INTEGER NOT NULL,               -- not every use is noted
  UNIQUE (namespace, id)
);

-- Sessions of browsers, and one-time codes that begin one. Their rights are those of the token.
CREATE TABLE access_sessions (
  n         INTEGER PRIMARY KEY AUTOINCREMENT,
  hash      BLOB    NOT NULL UNIQUE,        -- SHA-256 of the text, which is not stored (SEC2)
  namespace TEXT    NOT NULL,
  token     TEXT    NOT NULL,
  code      INTEGER NOT NULL,
  created   INTEGER NOT NULL,
  expires   INTEGER NOT NULL
);
CREATE INDEX access_sessions_by_token ON access_sessions (namespace, token);

CREATE TABLE audit (
  namespace TEXT    NOT NULL,
  n         INTEGER NOT NULL,               -- counts those of the namespace
  at        INTEGER NOT NULL,
  token     TEXT    NOT NULL,
  actor     TEXT    NOT NULL,
  channel   TEXT    NOT NULL,               -- the way in, such as `http`
  action    TEXT    NOT NULL,
  target    TEXT    NOT NULL,
  outcome   TEXT    NOT NULL,
  request   TEXT    NOT NULL,
  remote    TEXT    NOT NULL,
  PRIMARY KEY (namespace, n)
) WITHOUT ROWID;

-- Webhooks: what came in, which endpoints are notified, and which approve links were used. Runs do not need them. data is JSON; times are µs since 1970, 0 is none.
CREATE TABLE webhooks (
  id       TEXT    NOT NULL PRIMARY KEY,
  path     BLOB    NOT NULL UNIQUE,           -- SHA-256: how long a search takes tells nothing about paths
  workflow TEXT    NOT NULL,
  created  INTEGER NOT NULL,
  disabled INTEGER NOT NULL,
  data     TEXT    NOT NULL
);
CREATE INDEX webhooks_workflow ON webhooks (workflow);

-- A workflow that is deleted disables its webhooks, whichever program deletes it; they stay in the list, and another workflow of its id does not get them. A row
-- without published and draft is what Hocket leaves of one.
CREATE TRIGGER webhooks_of_forgotten AFTER UPDATE OF published, draft ON workflow_documents WHEN NEW.published = 0 AND NEW.draft = 0 BEGIN
  UPDATE webhooks SET disabled = CAST(unixepoch('subsec') * 1000000 AS INTEGER) WHERE workflow = NEW.id AND disabled = 0;
END;
CREATE TRIGGER webhooks_of_deleted AFTER DELETE ON workflow_documents BEGIN
  UPDATE webhooks SET disabled = CAST(unixepoch('subsec') * 1000000 AS INTEGER) WHERE workflow = OLD.id AND disabled = 0;
END;

CREATE TABLE webhook_deliveries (
  webhook TEXT    NOT NULL,
  key     BLOB    NOT NULL,                   -- SHA-256 of the sender's id, or of what was sent
  at      INTEGER NOT NULL,
  until   INTEGER NOT NULL,
  PRIMARY KEY (webhook, key)
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_until ON webhook_deliveries (until);

CREATE TABLE notification_endpoints (
  id      TEXT    NOT NULL PRIMARY KEY,
  created INTEGER NOT NULL,
  data    TEXT    NOT NULL
);

-- Notifications that are due or were sent.
CREATE TABLE notifications (
  n        INTEGER PRIMARY KEY AUTOINCREMENT,
  id       TEXT    NOT NULL UNIQUE,           -- webhook-id
  endpoint TEXT    NOT NULL,
  run      TEXT    NOT NULL,
  state    TEXT    NOT NULL,
  due      INTEGER NOT NULL,
  settled  INTEGER NOT NULL,
  data     TEXT    NOT NULL
);
CREATE INDEX notifications_due      ON notifications (due) WHERE state = 'pending';
CREATE INDEX notifications_state    ON notifications (state, n);
CREATE INDEX notifications_run      ON notifications (run);
CREATE INDEX notifications_endpoint ON notifications (endpoint);
CREATE INDEX notifications_settled  ON notifications (settled) WHERE settled > 0;

-- Notifications were made of all records up to this one.
CREATE TABLE notification_cursor (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  at INTEGER NOT NULL
);

CREATE TABLE approve_uses (
  nonce TEXT    NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL,
  data  TEXT    NOT NULL
);

PRAGMA user_version = 14;
