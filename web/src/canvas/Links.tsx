import {Trash2} from 'lucide-react'
import control from '../ui/control.module.css'
import {IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import type {CanvasEdge, CanvasNode} from './document.ts'
import styles from './Inspector.module.css'
import {reconnect, remove} from './operations.ts'
import {handleWord} from './rules.ts'
import type {Editing} from './use_editing.ts'

// Links are the edges of a node: each can be reconnected, opened and deleted.
export function Links({editing, node, open}: {editing: Editing; node: CanvasNode; open: (e: CanvasEdge) => void}) {
  const {c, act, readOnly, select, full} = editing
  const links = c.edges.filter(e => e.from === node.id || e.to === node.id)
  if (links.length === 0) return <p className={styles.quiet}>None yet.</p>
  return (
    <ul className={styles.links}>
      {links.map(e => {
        const from = c.byID.get(e.from)
        const out = e.from === node.id
        const other = out ? e.to : e.from
        const conditions = Array.isArray(from?.data.conditions) ? from.data.conditions : []
        const lead = (to: string) => {
          const link = {from: e.from, handle: e.port, to}
          act(reconnect(c, e.index, link), {anyway: () => act(reconnect(c, e.index, link, true))})
        }
        return (
          <li key={e.key}>
            <button
              type="button"
              className={styles.way}
              title="What the document says of this edge"
              onClick={() => open(e)}
            >
              {out ? '' : 'from '}
              <Line max={30}>{out ? handleWord(e.port, conditions) : c.byID.get(other)?.name || other}</Line>
            </button>
            {out ? (
              <select
                className={control.select}
                aria-label={`Target of ${handleWord(e.port, conditions)}`}
                disabled={readOnly}
                value={other}
                onChange={x => lead(x.target.value)}
              >
                {!c.byID.has(other) && <option value={other}>{other} (missing)</option>}
                {[...c.byID.values()].map(n => (
                  <option key={n.id} value={n.id}>
                    {n.name === n.id ? n.id : `${n.name} (${n.id})`}
                  </option>
                ))}
              </select>
            ) : (
              <button type="button" className={styles.jump} onClick={() => select([other])}>
                {handleWord(e.port, conditions)}
              </button>
            )}
            {!readOnly && (
              <IconButton
                label={`Delete the connection to ${other}`}
                onClick={() => act(remove(c, full, [], [e.index]))}
              >
                <Trash2 size={14} />
              </IconButton>
            )}
          </li>
        )
      })}
    </ul>
  )
}
