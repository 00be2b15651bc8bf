import {useMutation, useQuery} from '@tanstack/react-query'
import {Link, useLocation} from 'wouter'
import {ask, client} from '../api/client.ts'
import {may} from '../api/session.ts'
import {ago, plural} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {useOpenWaits} from '../shell/waits.ts'
import {Button, Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {waitTitle} from '../wait/words.ts'
import styles from './Home.module.css'
import {noFilter, type RunLine, useCounts, useRuns} from './runs_query.ts'
import {samples} from './samples.ts'

// Home shows the pending waits, today's failures, and the runs; if there is nothing yet, it shows
// samples that need no model.
export function Home() {
  const counts = useCounts(noFilter)
  const runs = useRuns(noFilter)
  if (runs.error) {
    return (
      <Page title="Home">
        <ErrorBox error={runs.error} again={() => void runs.refetch()} />
      </Page>
    )
  }
  if (!runs.data || !counts.data) {
    return (
      <Page title="Home">
        <Loading what="runs" />
      </Page>
    )
  }
  const latest = runs.data.pages[0]?.items ?? []
  return (
    <Page title="Home">
      <div className={styles.grid}>
        <Waits />
        <Failed />
        {latest.length === 0 ? (
          <section className={styles.wide}>
            <Samples first />
          </section>
        ) : (
          <>
            <section className={styles.wide} aria-labelledby="latest">
              <h2 id="latest">
                Runs <Link href="/runs">all {counts.data.total}</Link>
              </h2>
              <Lines runs={latest.slice(0, 10)} />
            </section>
            <section className={styles.wide}>
              <Samples />
            </section>
          </>
        )}
      </div>
    </Page>
  )
}

function Waits() {
  const waits = useOpenWaits()
  const all = waits.data ?? []
  return (
    <section aria-labelledby="waits">
      <h2 id="waits">
        Waits for you <Link href="/inbox">{all.length > 0 ? `all ${all.length}` : 'inbox'}</Link>
      </h2>
      {all.length === 0 ? (
        <p className={styles.none}>Nothing waits for a person.</p>
      ) : (
        <ul className={styles.lines}>
          {all.slice(0, 5).map(w => (
            <li key={w.run + w.id}>
              <Status of="waiting" brief />
              <Link href={`/inbox/${w.run}/${w.id}`} className={styles.main}>
                <Line>{waitTitle(w)}</Line>
              </Link>
              <span className={styles.when}>{ago(w.since)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Failed() {
  const failed = useQuery({
    queryKey: ['runs', 'failed today'],
    queryFn: () =>
      ask(
        client.GET('/api/v1/runs', {
          params: {
            query: {limit: 5, status: 'failed', createdFrom: new Date(new Date().setHours(0, 0, 0, 0)).toISOString()},
          },
        }),
      ),
  })
  const all = failed.data?.items ?? []
  return (
    <section aria-labelledby="failed">
      <h2 id="failed">
        Failed today <Link href="/runs?status=failed&from=24h">all</Link>
      </h2>
      {all.length === 0 ? <p className={styles.none}>No run failed today.</p> : <Lines runs={all} />}
    </section>
  )
}

function Lines({runs}: {runs: RunLine[]}) {
  return (
    <ul className={styles.lines}>
      {runs.map(r => (
        <li key={r.id}>
          <Status of={r.status} brief />
          <Link href={`/runs/${r.id}`} className={styles.main}>
            <Line>{r.workflowName || r.workflow || r.id}</Line>
          </Link>
          <span className={styles.preview}>
            <Line>{r.error ? r.error.message : r.inputPreview}</Line>
          </span>
          <span className={styles.when}>{ago(r.createdAt)}</span>
        </li>
      ))}
    </ul>
  )
}

function Samples({first = false}: {first?: boolean}) {
  const session = useSession()
  const [, go] = useLocation()
  const start = useMutation({
    mutationFn: (id: string) => {
      const s = samples.find(x => x.id === id)!
      return ask(
        client.POST('/api/v1/runs', {body: {document: s.document, format: 'steps', name: s.id, input: s.input}}),
      )
    },
    onSuccess: run => go(`/runs/${run.id}`),
  })
  if (!may(session, 'edit'))
    return first ? <Empty title="There are no runs yet">A token of the role edit may start a sample.</Empty> : null
  return (
    <>
      <h2>{first ? 'Begin with a sample' : 'Samples'}</h2>
      <p className={styles.none}>{plural(samples.length, 'workflow')} that need no model, no key and no network.</p>
      {start.error && <ErrorBox error={start.error} />}
      <ul className={styles.samples}>
        {samples.map(s => (
          <li key={s.id}>
            <h3>{s.title}</h3>
            <p>{s.what}</p>
            <details>
              <summary>The document</summary>
              <pre tabIndex={0}>{s.document}</pre>
            </details>
            <Button kind={first ? 'primary' : 'plain'} disabled={start.isPending} onClick={() => start.mutate(s.id)}>
              Run<span className="hidden">: {s.title}</span>
            </Button>
          </li>
        ))}
      </ul>
    </>
  )
}
