import {useRef, useState} from 'react'
import {Link} from 'wouter'
import {localDrafts, unstoredIn} from '../edit/local_draft.ts'
import {useSession} from '../shell/session.ts'
import {Dialog} from '../ui/Dialog.tsx'
import {Button} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './Inbox.module.css'

// Unstored lists the workflows that were created in this browser and of which the server stores
// nothing, because their text has errors.
export function Unstored() {
  const {namespace} = useSession()
  const [ids, setIDs] = useState(() => unstoredIn(namespace))
  const [gone, setGone] = useState<string | null>(null)
  const list = useRef<HTMLElement>(null)
  if (ids.length === 0) return null
  return (
    <section ref={list} tabIndex={-1} className={styles.unstored} aria-label="Only in this browser">
      <h2>Only in this browser</h2>
      <ul className={styles.list}>
        {ids.map(id => (
          <li key={id}>
            <div className={styles.what}>
              <Link href={`/workflows/${encodeURIComponent(id)}/edit`} className={styles.link}>
                <Line>{id}</Line>
              </Link>
              <small>the server stores it when it has no errors</small>
            </div>
            <Button className={styles.over} onClick={() => setGone(id)}>
              Discard
            </Button>
          </li>
        ))}
      </ul>
      {gone !== null && (
        <Dialog title="Discard the text?" close={() => setGone(null)}>
          <p>
            The text of <Line>{gone}</Line> is nowhere but in this browser. This cannot be undone.
          </p>
          <div>
            <Button
              kind="danger"
              onClick={() => {
                localDrafts(namespace, gone).drop()
                // The button to which the dialog returns the focus is gone, and so is the list
                // after its last item.
                const next =
                  ids.length > 1 ? list.current : list.current?.closest('main')?.querySelector<HTMLElement>('button')
                setIDs(unstoredIn(namespace))
                setGone(null)
                requestAnimationFrame(() => next?.focus())
              }}
            >
              Discard the text
            </Button>
          </div>
        </Dialog>
      )}
    </section>
  )
}
