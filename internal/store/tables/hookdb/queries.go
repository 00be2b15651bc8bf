package hookdb

import "github.com/hocket-run/hocket/internal/store/tables"

// All SQL of hooks.
const (
	sqlWebhooks      = tables.Text(`SELECT data, disabled FROM webhooks ORDER BY created, id`)
	sqlWebhookByPath = tables.Text(`SELECT data, disabled FROM webhooks WHERE path = ?`)
	sqlWebhook       = tables.Text(`SELECT data, disabled FROM webhooks WHERE id = ?`)
	sqlSetWebhook    = tables.Text(
		`INSERT INTO webhooks (id, path, workflow, created, disabled, data) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET path = excluded.path, workflow = excluded.workflow, created = ` +
			`excluded.created, disabled = excluded.disabled, data = excluded.data`)
	sqlDeleteWebhook    = tables.Text(`DELETE FROM webhooks WHERE id = ?`)
	sqlDeleteDeliveries = tables.Text(`DELETE FROM webhook_deliveries WHERE webhook = ?`)

	sqlForgetDelivery = tables.Text(`DELETE FROM webhook_deliveries WHERE webhook = ? AND key = ? AND until <= ?`)
	sqlDeliver        = tables.Text(
		`INSERT INTO webhook_deliveries (webhook, key, at, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`)
	sqlDelivery = tables.Text(`SELECT at, until FROM webhook_deliveries WHERE webhook = ? AND key = ?`)

	sqlEndpoints   = tables.Text(`SELECT data FROM notification_endpoints ORDER BY created, id`)
	sqlEndpoint    = tables.Text(`SELECT data FROM notification_endpoints WHERE id = ?`)
	sqlSetEndpoint = tables.Text(`INSERT INTO notification_endpoints (id, created, data) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET created = excluded.created, data = excluded.data`)
	sqlDeleteEndpoint    = tables.Text(`DELETE FROM notification_endpoints WHERE id = ?`)
	sqlDropNotifications = tables.Text(`DELETE FROM notifications WHERE endpoint = ?`)

	sqlCursor    = tables.Text(`SELECT at FROM notification_cursor WHERE id = 1`)
	sqlSetCursor = tables.Text(
		`INSERT INTO notification_cursor (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at`)
	sqlPost = tables.Text(`INSERT INTO notifications (id, endpoint, run, state, due, settled, data) VALUES ` +
		`(?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`)
	sqlDue  = tables.Text(`SELECT n FROM @notifications WHERE state = 'pending' AND due <= ? LIMIT 1`)
	sqlTake = tables.Text(`SELECT n, data FROM notifications WHERE state = 'pending' AND due <= ? AND ` +
		`endpoint NOT IN (SELECT value FROM json_each(?)) ORDER BY due, n LIMIT ?`)
	sqlTakePostgres = tables.Text(`SELECT n, data FROM notifications WHERE state = 'pending' AND due <= ? AND ` +
		`endpoint NOT IN (SELECT json_array_elements_text(CAST(? AS json))) ORDER BY due, n LIMIT ?`)
	sqlHide          = tables.Text(`UPDATE notifications SET due = ? WHERE n = ?`)
	sqlSettle        = tables.Text(`UPDATE notifications SET state = ?, due = ?, settled = ?, data = ? WHERE id = ?`)
	sqlNotifications = tables.Text(`SELECT n, data, due FROM notifications WHERE (CAST(? AS bigint) = 0 OR n < ?) ` +
		`AND (CAST(? AS text) = '' OR state = ?) AND (CAST(? AS bigint) = 0 OR run = ?) ORDER BY n DESC LIMIT ?`)
	sqlBacklog = tables.Text(
		`SELECT state, count(*) FROM notifications WHERE state IN ('pending', 'dead') GROUP BY state`)
	sqlNotification = tables.Text(`SELECT n, data, due FROM notifications WHERE id = ?`)

	sqlSweepDeliveries    = tables.Text(`DELETE FROM webhook_deliveries WHERE until <= ?`)
	sqlSweepNotifications = tables.Text(`DELETE FROM notifications WHERE settled > 0 AND settled < ?`)
	sqlSweepUses          = tables.Text(`DELETE FROM approve_uses WHERE until <= ?`)

	sqlUse = tables.Text(
		`INSERT INTO approve_uses (nonce, until, data) VALUES (?, ?, ?) ON CONFLICT (nonce) DO NOTHING`)
	sqlUsed  = tables.Text(`SELECT data FROM approve_uses WHERE nonce = ?`)
	sqlUnuse = tables.Text(`DELETE FROM approve_uses WHERE nonce = ?`)
)
