-- Webhooks: what came in, which endpoints are notified, and which approve links were used. Runs do not need them. data is JSON; times are µs since 1970, 0 is none.
CREATE TABLE webhooks (
  id       text COLLATE "C" NOT NULL PRIMARY KEY,
  path     bytea            NOT NULL UNIQUE,   -- SHA-256: how long a search takes tells nothing about paths
  workflow text COLLATE "C" NOT NULL,
  created  bigint           NOT NULL,
  disabled bigint           NOT NULL,
  data     text COLLATE "C" NOT NULL
);
CREATE INDEX webhooks_workflow ON webhooks (workflow);

-- A workflow that is deleted disables its webhooks, by whatever program; they stay in the list, and another workflow of its id does not get them. A row
-- without published and draft is what Hocket leaves of one. The function has the schema in its path, whatever that of the program is.
CREATE FUNCTION disable_webhooks() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE webhooks SET disabled = CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) WHERE workflow = OLD.id AND disabled = 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER webhooks_of_forgotten AFTER UPDATE OF published, draft ON workflow_documents
  FOR EACH ROW WHEN (NEW.published = 0 AND NEW.draft = 0) EXECUTE FUNCTION disable_webhooks();
CREATE TRIGGER webhooks_of_deleted AFTER DELETE ON workflow_documents FOR EACH ROW EXECUTE FUNCTION disable_webhooks();

CREATE TABLE webhook_deliveries (
  webhook text COLLATE "C" NOT NULL,
  key     bytea            NOT NULL,           -- SHA-256 of the sender's id, or of what was sent
  at      bigint           NOT NULL,
  until   bigint           NOT NULL,
  PRIMARY KEY (webhook, key)
);
CREATE INDEX webhook_deliveries_until ON webhook_deliveries (until);

CREATE TABLE notification_endpoints (
  id      text COLLATE "C" NOT NULL PRIMARY KEY,
  created bigint           NOT NULL,
  data    text COLLATE "C" NOT NULL
);

-- Notifications that are due or were sent.
CREATE TABLE notifications (
  n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id       text COLLATE "C" NOT NULL UNIQUE,   -- webhook-id
  endpoint text COLLATE "C" NOT NULL,
  run      bytea            NOT NULL,
  state    text COLLATE "C" NOT NULL,
  due      bigint           NOT NULL,
  settled  bigint           NOT NULL,
  data     text COLLATE "C" NOT NULL
);
CREATE INDEX notifications_due      ON notifications (due) WHERE state = 'pending';
CREATE INDEX notifications_state    ON notifications (state, n);
CREATE INDEX notifications_run      ON notifications (run);
CREATE INDEX notifications_endpoint ON notifications (endpoint);
CREATE INDEX notifications_settled  ON notifications (settled) WHERE settled > 0;

-- Notifications were made of all records up to this one.
CREATE TABLE notification_cursor (
  id integer PRIMARY KEY CHECK (id = 1),
  at bigint  NOT NULL
);

CREATE TABLE approve_uses (
  nonce text COLLATE "C" NOT NULL PRIMARY KEY,
  until bigint           NOT NULL,
  data  text COLLATE "C" NOT NULL
);

-- See catalog_turn.
CREATE TABLE hooks_turn ();
