-- Webhooks: what came in, who is told of what, and which approve links were used. Runs do not need them. data is JSON; times are µs since 1970, 0 is none.
CREATE TABLE webhooks (
  id       TEXT    NOT NULL PRIMARY KEY,
  path     BLOB    NOT NULL UNIQUE,           -- SHA-256: how long a search takes tells nothing about paths
  workflow TEXT    NOT NULL,
  created  INTEGER NOT NULL,
  disabled INTEGER NOT NULL,
  data     TEXT    NOT NULL
);
CREATE INDEX webhooks_workflow ON webhooks (workflow);

-- A workflow that is deleted takes its webhooks along, whoever deletes it; they stay in the list, and another workflow of its id does not get them. A row
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

-- What endpoints are to be told, and were told.
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

PRAGMA user_version = 9;
