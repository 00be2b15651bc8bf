import {keepPreviousData, useInfiniteQuery} from '@tanstack/react-query'
import {Link, useLocation, useSearch} from 'wouter'
import {ask, client} from '../api/client.ts'
import {may} from '../api/session.ts'
import {NewCanvas} from '../canvas/NewCanvas.tsx'
import {ago} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {Button, Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './Inbox.module.css'
import {LabelFilter, Labels} from './Labels.tsx'
import {NewWorkflow} from './NewWorkflow.tsx'
import {Unstored} from './Unstored.tsx'

const hrefOf = (label: string): string => (label ? `/workflows?${new URLSearchParams({label})}` : '/workflows')

// WorkflowsPage lists the stored workflows. The label selectors are in the address.
export function WorkflowsPage() {
  const who = useSession()
  const [, go] = useLocation()
  const label = new URLSearchParams(useSearch()).get('label') ?? ''
  const list = useInfiniteQuery({
    queryKey: ['workflows', 'list', label],
    queryFn: ({pageParam}) =>
      ask(
        client.GET('/api/v1/workflows', {
          params: {query: {limit: 200, ...(label ? {label: [label]} : {}), ...(pageParam ? {cursor: pageParam} : {})}},
        }),
      ),
    initialPageParam: '',
    getNextPageParam: page => page.next || undefined,
    placeholderData: keepPreviousData,
  })
  const all = list.data?.pages.flatMap(p => p.items ?? []) ?? []
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
      {may(who, 'edit') && <Unstored />}
      {(label || all.some(w => Object.keys(w.labels).length > 0)) && (
        <LabelFilter label={label} set={l => go(hrefOf(l))} />
      )}
      {list.error && !list.isFetching ? (
        <ErrorBox error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading what="workflows" />
      ) : all.length === 0 && label ? (
        <Empty title="No workflow has such labels">
          <p>
            <Link href="/workflows">Show all workflows</Link>
          </p>
        </Empty>
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
                <Labels of={w.labels} to={hrefOf} />
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
      {list.hasNextPage && (
        <Button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
          Show more
        </Button>
      )}
    </Page>
  )
}
