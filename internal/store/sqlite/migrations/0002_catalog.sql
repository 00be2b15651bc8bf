-- Stored agents and workflows. These tables are for any program to read and write; docs/catalog.md tells what they mean. Rows of nodes and edges
-- are in the order of their rowid.
--
-- Nothing refers to nodes or agents by a foreign key: an edge may lead to a node that does not exist (S3-8), and an agent may come from beside the
-- catalog. The others are checked at the end of a transaction, where a program asks for it, and delete nothing by themselves.
CREATE TABLE agents (
  id            TEXT NOT NULL PRIMARY KEY,
  name          TEXT,
  description   TEXT,
  system_prompt TEXT,
  model         TEXT,
  tools         TEXT                        -- a JSON list of names
);

CREATE TABLE agent_workflows (
  id                 TEXT    NOT NULL PRIMARY KEY,
  name               TEXT,
  description        TEXT,
  is_conversational  INTEGER DEFAULT 0,
  entrypoint_node_id TEXT,
  human_handoff      TEXT,
  max_steps          INTEGER,
  timeout_ms         INTEGER,
  agents             TEXT                   -- the workflow's own agents: a JSON list as in documents
);
CREATE TABLE agent_workflow_nodes (
  id          TEXT NOT NULL,
  workflow_id TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  node_type   TEXT NOT NULL,
  node_name   TEXT,
  agent_id    TEXT,
  prompt      TEXT,
  PRIMARY KEY (workflow_id, id)
);
CREATE TABLE agent_workflow_edges (
  id              TEXT,
  workflow_id     TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  source_node_id  TEXT NOT NULL,
  target_node_id  TEXT,                     -- NULL ends the run
  condition_type  TEXT NOT NULL,
  condition_value TEXT,
  UNIQUE (workflow_id, id)
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
  PRIMARY KEY (workflow_id, version)
);

PRAGMA user_version = 2;
