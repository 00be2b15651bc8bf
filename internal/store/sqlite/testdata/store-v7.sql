-- A store of version 7: what that of version 6 holds, and a notice.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
, session TEXT NOT NULL DEFAULT '');
INSERT INTO runs VALUES(1,'old1',1795257264824045,'completed',0,1795257264826133,'hello','hello','steps','','run',X'a8345882af4ce3d75e8f034b59e42d00d3c1b3f70259e4d58a57e4da9feb25a8','{"hocket.file.replies":"56723294399d8764800cc6e095347a980787320b9a65f73a08d2b30d06449d4c"}','');
CREATE TABLE heads (
  id      INTEGER PRIMARY KEY,              -- runs.id
  epoch   INTEGER NOT NULL,
  owner   INTEGER NOT NULL,                 -- owners.id; 0 is none
  last    INTEGER NOT NULL,
  seal    BLOB    NOT NULL,                 -- that of the last record
  record  INTEGER NOT NULL,                 -- records.id of the last record
  updated INTEGER NOT NULL
);
INSERT INTO heads VALUES(1,1,0,8,X'017e189de541ba04fe6ddb3f85191a5e02',2,1795257264826133);
CREATE TABLE records (
  id   INTEGER PRIMARY KEY,
  run  INTEGER NOT NULL,
  prev INTEGER NOT NULL,                    -- 0 for the first
  last INTEGER NOT NULL,                    -- its first event is the one after prev's last
  seal BLOB    NOT NULL,                    -- version byte, 16 bytes of checksum
  data BLOB    NOT NULL
);
INSERT INTO records VALUES(1,1,0,5,X'018b9e9b080132fa9295210cdfae77948a',X'7b2276223a312c22736571223a312c226174223a313739353235373236343832343138362c226576656e7473223a5b5b2272756e2e63726561746564222c302c22222c302c7b2276657273696f6e223a312c226e616d65223a2268656c6c6f222c22666f726d6174223a227374657073222c22646967657374223a2261383334353838326166346365336437356538663033346235396534326430306433633162336637303235396534643538613537653464613966656232356138222c22696e707574223a226869222c226c696d697473223a7b7d7d5d2c5b2272756e2e73746172746564222c302c22222c302c7b7d5d2c5b22656467652e74616b656e222c302c22222c302c7b2265646765223a2d312c22746f223a22726f6f74222c22746f6b656e223a317d5d2c5b22737465702e73746172746564222c302c22726f6f74222c312c7b22746f6b656e73223a5b315d2c226b696e64223a226167656e74222c22697465726174696f6e223a312c226167656e74223a22726f6f74227d5d2c5b226d6f64656c2e63616c6c6564222c302c22726f6f74222c312c7b2263616c6c223a22312e302e31222c22617474656d7074223a312c226167656e74223a22726f6f74222c226d6f64656c223a226f70656e61692f6770742d352d6d696e69222c22636f6e766572736174696f6e223a22312e30222c226c656e677468223a317d5d5d7d');
INSERT INTO records VALUES(2,1,1,8,X'017e189de541ba04fe6ddb3f85191a5e02',X'7b2276223a312c22736571223a362c226174223a313739353235373236343832363036322c226576656e7473223a5b5b226d6f64656c2e7265706c696564222c302c22726f6f74222c312c7b2263616c6c223a22312e302e31222c22617474656d7074223a312c226d657373616765223a7b22726f6c65223a22617373697374616e74222c2274657874223a2268656c6c6f227d2c226d6f64656c223a226f70656e61692f6770742d352d6d696e69222c2273746f70223a2273746f70222c22736f75726365223a2231227d5d2c5b22737465702e636f6d706c65746564222c302c22726f6f74222c312c7b227265706c79223a747275652c22706f727473223a5b226f7574225d7d5d2c5b2272756e2e636f6d706c65746564222c302c22222c302c7b226f757470757453746570223a317d5d5d7d');
CREATE TABLE trash (
  record INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL
);
CREATE TABLE blobs (
  id   INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  data BLOB NOT NULL
);
INSERT INTO blobs VALUES(1,X'a8345882af4ce3d75e8f034b59e42d00d3c1b3f70259e4d58a57e4da9feb25a8',X'7b226e616d65223a2268656c6c6f222c22666f726d6174223a227374657073222c22656e747279223a22726f6f74222c226e6f646573223a5b7b226964223a22726f6f74222c226b696e64223a226167656e74222c226167656e74223a7b226167656e74223a22726f6f74222c2270726f6d7074223a7b226d6f6465223a22636f6e74657874222c2274657874223a22506c656173652070726f636565642e227d7d7d5d2c226564676573223a5b5d2c226167656e7473223a5b7b226964223a22726f6f74222c226d6f64656c223a226f70656e61692f6770742d352d6d696e69222c2273797374656d223a225361792068656c6c6f2e222c2274656d706c617465223a747275657d5d2c2272756c6573223a7b226f6e4661696c757265223a226661696c5f66617374227d7d');
INSERT INTO blobs VALUES(2,X'56723294399d8764800cc6e095347a980787320b9a65f73a08d2b30d06449d4c',X'7265706c6965733a0a20202d20746578743a2068656c6c6f0a2020202074696d65733a20616c776179730a');
CREATE TABLE holds (
  run  INTEGER NOT NULL,
  blob INTEGER NOT NULL,
  PRIMARY KEY (run, blob)
) WITHOUT ROWID;
INSERT INTO holds VALUES(1,1);
INSERT INTO holds VALUES(1,2);
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
INSERT INTO owners VALUES(1,'0570fc54-123a-4bf1-ae0c-99d998aa39b8','run',2825);
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
CREATE TABLE agents (
  id            TEXT NOT NULL PRIMARY KEY,
  name          TEXT,
  description   TEXT,
  system_prompt TEXT,
  model         TEXT,
  tools         TEXT                        -- a JSON list of names
, definition TEXT);
INSERT INTO agents VALUES('agent-desk','Desk',NULL,'Answer the guest.','openai/gpt-5-mini',NULL,NULL);
INSERT INTO agents VALUES('agent-router','Router',NULL,'Send the guest to Desk.','openai/gpt-5-mini',NULL,NULL);
INSERT INTO agents VALUES('greeter','Greeter',NULL,NULL,NULL,NULL,'{"maxIterations":3}');
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
INSERT INTO agent_workflows VALUES('lobby','Lobby',NULL,0,'node-router',NULL,NULL,NULL,NULL);
CREATE TABLE agent_workflow_nodes (
  id          TEXT NOT NULL,
  workflow_id TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  node_type   TEXT NOT NULL,
  node_name   TEXT,
  agent_id    TEXT,
  prompt      TEXT,
  PRIMARY KEY (workflow_id, id)
);
INSERT INTO agent_workflow_nodes VALUES('node-router','lobby','AGENT','Router','agent-router',NULL);
INSERT INTO agent_workflow_nodes VALUES('node-desk','lobby','AGENT','Desk','agent-desk',NULL);
CREATE TABLE agent_workflow_edges (
  id              TEXT,
  workflow_id     TEXT NOT NULL REFERENCES agent_workflows (id) DEFERRABLE INITIALLY DEFERRED,
  source_node_id  TEXT NOT NULL,
  target_node_id  TEXT,                     -- NULL ends the run
  condition_type  TEXT NOT NULL,
  condition_value TEXT,
  UNIQUE (workflow_id, id)
);
INSERT INTO agent_workflow_edges VALUES('edge-1','lobby','node-router','node-desk','CONDITIONAL','Desk');
INSERT INTO agent_workflow_edges VALUES('edge-2','lobby','node-desk',NULL,'CONDITIONAL','END');
CREATE TABLE workflow_documents (
  id        TEXT    NOT NULL PRIMARY KEY,
  published INTEGER NOT NULL,               -- the version that runs; 0 is none
  draft     INTEGER NOT NULL,               -- the version that is worked on; 0 is none
  latest    INTEGER NOT NULL,
  updated   INTEGER NOT NULL
);
INSERT INTO workflow_documents VALUES('lobby',1,0,1,1795257265111240);
INSERT INTO workflow_documents VALUES('hello',1,2,2,1795257265169696);
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
INSERT INTO workflow_versions VALUES('lobby',1,'routes','Lobby','lobby.json','3f93e217c90c99b49c00e7843eeb00d13504cbaffa2e50b584768f998a37e3ab',X'e1de55bf3d3bfdfc8b81784d33dc134081c62fbf9156142b7dbb6b8b8d16ed1d',1795257265111240,X'7b0a2020226964223a20226c6f626279222c0a2020226e616d65223a20224c6f626279222c0a2020226973436f6e766572736174696f6e616c223a2066616c73652c0a202022656e747279706f696e744e6f64654964223a20226e6f64652d726f75746572222c0a2020226e6f646573223a205b0a202020207b226964223a20226e6f64652d726f75746572222c2022776f726b666c6f774964223a20226c6f626279222c20226e6f646554797065223a20224147454e54222c20226e6f64654e616d65223a2022526f75746572222c20226167656e744964223a20226167656e742d726f75746572227d2c0a202020207b226964223a20226e6f64652d6465736b222c2022776f726b666c6f774964223a20226c6f626279222c20226e6f646554797065223a20224147454e54222c20226e6f64654e616d65223a20224465736b222c20226167656e744964223a20226167656e742d6465736b227d0a20205d2c0a2020226564676573223a205b0a202020207b226964223a2022656467652d31222c2022776f726b666c6f774964223a20226c6f626279222c2022736f757263654e6f64654964223a20226e6f64652d726f75746572222c20227461726765744e6f64654964223a20226e6f64652d6465736b222c2022636f6e646974696f6e54797065223a2022434f4e444954494f4e414c222c2022636f6e646974696f6e56616c7565223a20224465736b227d2c0a202020207b226964223a2022656467652d32222c2022776f726b666c6f774964223a20226c6f626279222c2022736f757263654e6f64654964223a20226e6f64652d6465736b222c20227461726765744e6f64654964223a206e756c6c2c2022636f6e646974696f6e54797065223a2022434f4e444954494f4e414c222c2022636f6e646974696f6e56616c7565223a2022454e44227d0a20205d0a7d0a');
INSERT INTO workflow_versions VALUES('hello',1,'steps','','hello.yaml','dfdd57a0defbbb3cc70cc9aa8a96401d456408b32d21c4c07032344cd8dffac1',X'1dd5d3af15029cfaac1b8062ad39a2311b594de4632b2445d1deec510d736ea0',1795257265136272,X'6167656e74733a0a2020726f6f743a0a202020206d6f64656c3a206f70656e61692f6770742d352d6d696e690a20202020696e737472756374696f6e3a205361792068656c6c6f2e0a776f726b666c6f773a0a20202d20747970653a206167656e740a202020206e616d653a20726f6f740a');
INSERT INTO workflow_versions VALUES('hello',2,'steps','','h2.yaml','dfdd57a0defbbb3cc70cc9aa8a96401d456408b32d21c4c07032344cd8dffac1',X'8da3a14285a4816354b93811eb5634892f03375daceda9da45b7ce5776b36cf0',1795257265169696,X'6167656e74733a0a2020726f6f743a0a202020206d6f64656c3a206f70656e61692f6770742d352d6d696e690a20202020696e737472756374696f6e3a205361792068656c6c6f2e0a776f726b666c6f773a0a20202d20747970653a206167656e740a202020206e616d653a20726f6f740a2320612064726166740a');
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
CREATE TABLE schedule_leader (
  id    INTEGER PRIMARY KEY CHECK (id = 1),
  owner TEXT    NOT NULL,                   -- as in owners, whose rows go when nobody owns a run
  kind  TEXT    NOT NULL,
  pid   INTEGER NOT NULL
);
CREATE TABLE checkpoints (
  n         INTEGER PRIMARY KEY,            -- the highest of a run is the newest
  execution TEXT NOT NULL,
  label     TEXT NOT NULL,
  hash      BLOB NOT NULL,                  -- SHA-256 of state
  state     BLOB NOT NULL,                  -- JSON
  UNIQUE (execution, label)
);
INSERT INTO checkpoints VALUES(1,'graph1','step_1',X'2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd',X'7b226e223a317d');
INSERT INTO checkpoints VALUES(2,'graph1','approved',X'9d3600825698fdcdc885eb5b4564cd1a5da28105249fcc0e430740d9d5e427f9',X'7b226e223a312c226f6b223a747275657d');
CREATE TABLE memories (
  n        INTEGER PRIMARY KEY AUTOINCREMENT, -- the id; never used again
  space    TEXT NOT NULL,                     -- whose: of a workflow and a toolset
  key      TEXT NOT NULL,                     -- idempotency key of the call that added it
  category TEXT NOT NULL,
  text     TEXT NOT NULL,
  at       TEXT NOT NULL,                     -- RFC 3339, UTC: when it was written last
  UNIQUE (space, key)
);
INSERT INTO memories VALUES(1,'lobby','k1','fact','The desk opens at nine.','2026-11-22T02:00:00Z');
CREATE TABLE notices (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  INTEGER NOT NULL,                    -- runs.id
  seq  INTEGER NOT NULL,                    -- of the event
  type TEXT    NOT NULL,                    -- of the event
  at   INTEGER NOT NULL
);
INSERT INTO notices VALUES(1,1,8,'run.completed',1795257264826133);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('owners',1);
INSERT INTO sqlite_sequence VALUES('runs',1);
INSERT INTO sqlite_sequence VALUES('memories',1);
INSERT INTO sqlite_sequence VALUES('notices',1);
CREATE INDEX runs_created  ON runs (created);
CREATE INDEX runs_status   ON runs (status, created);
CREATE INDEX runs_workflow ON runs (workflow, status, created);
CREATE INDEX runs_parent   ON runs (parent, created) WHERE parent <> '';
CREATE INDEX holds_blob ON holds (blob);
CREATE INDEX inbox_run  ON inbox (run);
CREATE INDEX inbox_open ON inbox (run) WHERE done = 0;
CREATE INDEX checkpoints_order ON checkpoints (execution, n);
CREATE UNIQUE INDEX runs_open_session ON runs (session) WHERE session <> '' AND status IN ('pending', 'running', 'paused');
CREATE INDEX runs_session ON runs (session, created) WHERE session <> '';
CREATE INDEX notices_run ON notices (run);
COMMIT;
PRAGMA application_id = 1212896330;
PRAGMA user_version = 7;
