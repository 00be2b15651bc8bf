import {Link} from 'wouter'
import {ago, exact} from '../lib/format.ts'
import {useOpenWaits} from '../shell/waits.ts'
import {Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {kindText, waitTitle} from '../wait/words.ts'
import styles from './Inbox.module.css'

// InboxPage lists the waits of all runs, the next deadline first.
export function InboxPage() {
  const waits = useOpenWaits()
  const all = waits.data ?? []
  return (
    <Page title="Inbox">
      {waits.error && !waits.data ? (
        <ErrorBox error={waits.error} again={() => void waits.refetch()} />
      ) : waits.isPending ? (
        <Loading what="what waits" />
      ) : all.length === 0 ? (
        <Empty title="Nothing waits for a person">
          <p>Approvals, questions, held tool calls and budgets of runs come here.</p>
        </Empty>
      ) : (
        <ul className={styles.list}>
          {all.map(w => (
            <li key={w.run + w.id} data-whole>
              <Status of="waiting" brief />
              <div className={styles.what}>
                <Link href={`/inbox/${w.run}/${w.id}`} className={styles.link}>
                  <Line>{waitTitle(w)}</Line>
                </Link>
                <small>
                  <Line>{`${w.workflow} · ${w.node} · ${w.tool ? 'tool call' : kindText(w.kind)}`}</Line>
                </small>
              </div>
              <div className={styles.when}>
                <span title={exact(w.since)}>{ago(w.since)}</span>
                {w.deadline && (
                  <span className={styles.due} title={exact(w.deadline)}>
                    due {ago(w.deadline)}
                  </span>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Page>
  )
}
