import {useQuery} from '@tanstack/react-query'
import {Link} from 'wouter'
import {ask, client} from '../api/client.ts'
import {may} from '../api/session.ts'
import {NewCanvas} from '../canvas/NewCanvas.tsx'
import {ago} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './Inbox.module.css'
import {NewWorkflow} from './NewWorkflow.tsx'

// WorkflowsPage lists the stored workflows.
export function WorkflowsPage() {
  const who = useSession()
  const list = useQuery({queryKey: ['workflows', 'list'], queryFn: () => ask(client.GET('/api/v1/workflows', {params: {query: {limit: 200}}}))})
  const all = list.data?.items ?? []
  return (
    <Page
      title="Workflows"
      actions={
        may(who, 'edit') && (
          <>
            <NewWorkflow />
            <NewCanvas />
          </>
        )
      }
    >
      {list.error && !list.data ? (
        <ErrorBox error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading what="workflows" />
      ) : all.length === 0 ? (
        <Empty title="No workflow is stored yet">
          <p>Store one from a shell, or run a document without storing it:</p>
          <pre>hocket workflows apply newsroom.yaml</pre>
        </Empty>
      ) : (
        <ul className={styles.list}>
          {all.map(w => (
            <li key={w.id}>
              <div className={styles.what}>
                <Link href={`/workflows/${encodeURIComponent(w.id)}`} className={styles.link}>
                  <Line>{w.name || w.id}</Line>
                </Link>
                <small>
                  <Line>{[w.name && w.name !== w.id ? w.id : '', w.format].filter(Boolean).join(' · ')}</Line>
                </small>
              </div>
              <div className={styles.when}>
                <span>{w.published !== null ? `published v${w.published}` : 'not published'}</span>
                {w.draft !== null && <span className={styles.due}>draft v{w.draft}</span>}
                {w.updatedAt && <span>{ago(w.updatedAt)}</span>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Page>
  )
}
