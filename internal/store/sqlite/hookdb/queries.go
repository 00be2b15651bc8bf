package hookdb

import db "github.com/hocket-run/hocket/internal/store/sqlite"

// All SQL of hooks.
const (
	sqlWebhooks      = db.Text(`SELECT data, disabled FROM webhooks ORDER BY created, id`)
	sqlWebhookByPath = db.Text(`SELECT data, disabled FROM webhooks WHERE path = ?`)
	sqlWebhook       = db.Text(`SELECT data, disabled FROM webhooks WHERE id = ?`)
	sqlSetWebhook    = db.Text(`INSERT INTO webhooks (id, path, workflow, created, disabled, data) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET path = excluded.path, workflow = excluded.workflow, created = excluded.created, disabled = excluded.disabled, data = excluded.data`)
	sqlDeleteWebhook    = db.Text(`DELETE FROM webhooks WHERE id = ?`)
	sqlDeleteDeliveries = db.Text(`DELETE FROM webhook_deliveries WHERE webhook = ?`)

	sqlForgetDelivery = db.Text(`DELETE FROM webhook_deliveries WHERE webhook = ? AND key = ? AND until <= ?`)
	sqlDeliver        = db.Text(`INSERT INTO webhook_deliveries (webhook, key, at, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	sqlDelivery       = db.Text(`SELECT at, until FROM webhook_deliveries WHERE webhook = ? AND key = ?`)

	sqlEndpoints   = db.Text(`SELECT data FROM notification_endpoints ORDER BY created, id`)
	sqlEndpoint    = db.Text(`SELECT data FROM notification_endpoints WHERE id = ?`)
	sqlSetEndpoint = db.Text(`INSERT INTO notification_endpoints (id, created, data) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET created = excluded.created, data = excluded.data`)
	sqlDeleteEndpoint    = db.Text(`DELETE FROM notification_endpoints WHERE id = ?`)
	sqlDropNotifications = db.Text(`DELETE FROM notifications WHERE endpoint = ?`)

	sqlCursor        = db.Text(`SELECT at FROM notification_cursor WHERE id = 1`)
	sqlSetCursor     = db.Text(`INSERT INTO notification_cursor (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at`)
	sqlPost          = db.Text(`INSERT INTO notifications (id, endpoint, run, state, due, settled, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`)
	sqlTake          = db.Text(`SELECT n, data FROM notifications WHERE state = 'pending' AND due <= ? AND endpoint NOT IN (SELECT value FROM json_each(?)) ORDER BY due, n LIMIT ?`)
	sqlHide          = db.Text(`UPDATE notifications SET due = ? WHERE n = ?`)
	sqlSettle        = db.Text(`UPDATE notifications SET state = ?, due = ?, settled = ?, data = ? WHERE id = ?`)
	sqlNotifications = db.Text(`SELECT n, data, due FROM notifications WHERE (?1 = 0 OR n < ?1) AND (?2 = '' OR state = ?2) AND (?3 = '' OR run = ?3) ORDER BY n DESC LIMIT ?4`)
	sqlBacklog       = db.Text(`SELECT state, count(*) FROM notifications WHERE state IN ('pending', 'dead') GROUP BY state`)
	sqlNotification  = db.Text(`SELECT n, data, due FROM notifications WHERE id = ?`)

	sqlSweepDeliveries    = db.Text(`DELETE FROM webhook_deliveries WHERE until <= ?`)
	sqlSweepNotifications = db.Text(`DELETE FROM notifications WHERE settled > 0 AND settled < ?`)
	sqlSweepUses          = db.Text(`DELETE FROM approve_uses WHERE until <= ?`)

	sqlUse   = db.Text(`INSERT INTO approve_uses (nonce, until, data) VALUES (?, ?, ?) ON CONFLICT (nonce) DO NOTHING`)
	sqlUsed  = db.Text(`SELECT data FROM approve_uses WHERE nonce = ?`)
	sqlUnuse = db.Text(`DELETE FROM approve_uses WHERE nonce = ?`)
)
