import {useMutation, useQuery, useQueryClient} from '@tanstack/react-query'
import {lazy, Suspense, useMemo} from 'react'
import {Link, useLocation, useSearch} from 'wouter'
import {ask, client} from '../api/client.ts'
import {may} from '../api/session.ts'
import {type Version, versionsOf} from '../edit/stored.ts'
import {ago, exact} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {Button, Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import {GraphChanges} from './GraphChanges.tsx'
import {graphDiff} from './graph_diff.ts'
import styles from './VersionsPage.module.css'
import {authorsOf, nameOf, pairOf, type Side, sideOf} from './versions.ts'

const TextDiff = lazy(() => import('./TextDiff.tsx'))

// VersionsPage lists the versions of a workflow, and compares two of them.
export default function VersionsPage({id}: {id: string}) {
  const list = useQuery({queryKey: ['workflows', 'versions', id], queryFn: () => versionsOf(id)})
  const own = `/workflows/${encodeURIComponent(id)}`
  return (
    <Page
      wide
      title={<Line>{`${id} · versions`}</Line>}
      actions={
        <>
          <Link href={own}>The workflow</Link>
          <Link href={`${own}/edit`}>Edit</Link>
        </>
      }
    >
      {list.error ? (
        <ErrorBox error={list.error} again={() => void list.refetch()} />
      ) : !list.data ? (
        <Loading what="versions" />
      ) : list.data.length === 0 ? (
        <Empty title="It has no versions">This workflow consists of rows of the tables.</Empty>
      ) : (
        <Inside id={id} all={list.data} />
      )}
    </Page>
  )
}

function Inside({id, all}: {id: string; all: Version[]}) {
  const search = new URLSearchParams(useSearch())
  const [, go] = useLocation()
  const session = useSession()
  const [a, b] = pairOf(all, Number(search.get('a')), Number(search.get('b')))
  const authors = useQuery({
    queryKey: ['authors', id, all.length],
    queryFn: () => authorsOf(id, all),
    enabled: may(session, 'admin'),
  })
  const choose = (side: 'a' | 'b', n: number) => {
    const next = {a, b, [side]: n}
    go(`/workflows/${encodeURIComponent(id)}/versions?a=${next.a}&b=${next.b}`, {replace: true})
  }
  return (
    <div className={styles.grid}>
      <section aria-label="Versions">
        <table className={styles.list}>
          <thead>
            <tr>
              <th scope="col">old</th>
              <th scope="col">new</th>
              <th scope="col">version</th>
            </tr>
          </thead>
          <tbody>
            {all.map(v => (
              <tr key={v.number} data-chosen={v.number === a || v.number === b || undefined}>
                {(['a', 'b'] as const).map(side => (
                  <td key={side}>
                    <input
                      type="radio"
                      name={side}
                      aria-label={`${side === 'a' ? 'Compare' : 'with'} v${v.number}`}
                      checked={v.number === (side === 'a' ? a : b)}
                      onChange={() => choose(side, v.number)}
                    />
                  </td>
                ))}
                <td>
                  <strong>v{v.number}</strong> {v.published && <span className={styles.published}>published</span>}
                  {v.draft && <span className={styles.draft}>draft</span>}
                  <small title={exact(v.createdAt)}>
                    <Line>
                      {[ago(v.createdAt), authors.data?.get(v.number)?.name, v.file].filter(Boolean).join(' · ')}
                    </Line>
                  </small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Compared id={id} a={all.find(v => v.number === a)!} b={all.find(v => v.number === b)!} />
    </div>
  )
}

function Compared({id, a, b}: {id: string; a: Version; b: Version}) {
  const queries = useQueryClient()
  const read = (v: Version) => ({
    queryKey: ['workflows', 'version', id, v.number],
    queryFn: () => sideOf(queries, id, v),
  })
  const [first, second] = [useQuery(read(a)), useQuery(read(b))]
  const diff = useMemo(
    () => (first.data && second.data ? graphDiff(first.data.check, second.data.check) : null),
    [first.data, second.data],
  )
  const error = first.error ?? second.error
  if (error) return <ErrorBox error={error} />
  if (!first.data || !second.data || !diff) return <Loading what="the documents" />
  return (
    <section className={styles.compared} aria-label="What differs">
      <header className={styles.head}>
        <h2>{a.number === b.number ? nameOf(a) : `${nameOf(a)} → ${nameOf(b)}`}</h2>
        <Choices id={id} version={b} side={second.data} />
      </header>
      <GraphChanges diff={diff} />
      <h3>Text</h3>
      {a.number !== b.number && first.data.check.text === second.data.check.text && <p>The texts are the same.</p>}
      <Suspense fallback={<Loading what="the texts" />}>
        <TextDiff
          a={first.data.check.text}
          b={second.data.check.text}
          aName={`Text of v${a.number}`}
          bName={`Text of v${b.number}`}
        />
      </Suspense>
    </section>
  )
}

// Choices publishes a version or makes it the draft, unless another client has changed the workflow
// since it was shown.
function Choices({id, version: v, side}: {id: string; version: Version; side: Side}) {
  const session = useSession()
  const queries = useQueryClient()
  const [, go] = useLocation()
  const params = {path: {id}, header: {'If-Match': side.etag}}
  const done = () => queries.invalidateQueries({queryKey: ['workflows']})
  const publish = useMutation({
    mutationFn: () => ask(client.POST('/api/v1/workflows/{id}/publish', {params, body: {version: v.number}})),
    onSettled: done,
  })
  const restore = useMutation({
    mutationFn: () =>
      ask(client.PUT('/api/v1/workflows/{id}', {params, body: {document: side.check.text, draft: true}})),
    onSettled: done,
    onSuccess: () => go(`/workflows/${encodeURIComponent(id)}/edit`),
  })
  if (!may(session, 'edit')) return null
  const busy = publish.isPending || restore.isPending
  const error = publish.error ?? restore.error
  return (
    <div className={styles.choices}>
      {!v.draft && (
        <Button
          disabled={busy}
          onClick={() => restore.mutate()}
          title="Store its text as the draft. What is published stays"
        >
          Restore v{v.number} as draft
        </Button>
      )}
      {!v.published && (
        <Button kind="primary" disabled={busy} onClick={() => publish.mutate()} title="New runs use it from then on">
          Publish v{v.number}
        </Button>
      )}
      {error && <ErrorBox error={error} />}
    </div>
  )
}
