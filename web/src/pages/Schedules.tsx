import {useMutation, useQueries, useQuery, useQueryClient} from '@tanstack/react-query'
import {Link} from 'wouter'
import {ask, client, type Schemas} from '../api/client.ts'
import {may} from '../api/session.ts'
import {ago, exact} from '../lib/format.ts'
import {useSession} from '../shell/session.ts'
import {Button, Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import styles from './Schedules.module.css'
import {placesOf, titleOf} from './schedule_times.ts'

type Scheduled = Schemas['Scheduled']

const timesShown = 8

const queryOf = (s: Scheduled) => ({...(s.branch ? {branch: s.branch} : {}), ...(s.id ? {schedule: s.id} : {})})

// SchedulesPage lists the schedules of published workflows with their next times, and controls
// them.
export function SchedulesPage() {
  const list = useQuery({
    queryKey: ['schedules'],
    queryFn: () => ask(client.GET('/api/v1/schedules', {params: {query: {limit: 200}}})),
    refetchInterval: 10_000,
  })
  const all = list.data?.items ?? []
  const times = useQueries({
    queries: all.map(s => ({
      queryKey: ['schedules', 'preview', s.workflow, s.branch, s.id, s.spec, s.next],
      queryFn: async () =>
        (
          await ask(
            client.GET('/api/v1/schedules/preview', {
              params: {query: {workflow: s.workflow, ...queryOf(s), count: timesShown}},
            }),
          )
        ).times ?? [],
      retry: false,
      enabled: s.program === null,
    })),
  })
  const known = times.flatMap(t => t.data ?? [])
  return (
    <Page title="Schedules">
      {list.error && !list.data ? (
        <ErrorBox error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Loading what="schedules" />
      ) : all.length === 0 ? (
        <Empty title="No published workflow has a schedule">
          <p>A document gets one by a key, and runs by it as soon as it is published:</p>
          <pre>{'schedule: "0 6 * * *"'}</pre>
        </Empty>
      ) : (
        <ul className={styles.list}>
          {all.map((s, i) => (
            <Row key={`${s.workflow}\n${s.branch}\n${s.id}`} s={s} times={times[i]?.data ?? []} all={known} />
          ))}
        </ul>
      )}
    </Page>
  )
}

function Row({s, times, all}: {s: Scheduled; times: string[]; all: string[]}) {
  const session = useSession()
  return (
    <li>
      <div className={styles.head}>
        <h2>
          {s.program === null ? (
            <Link href={`/workflows/${encodeURIComponent(s.workflow)}`}>
              <Line>{titleOf(s)}</Line>
            </Link>
          ) : (
            <Line>{`${titleOf(s)} · of the program ${s.program}`}</Line>
          )}
        </h2>
        <span className={styles.spec}>
          <code>
            <Line>{s.spec}</Line>
          </code>{' '}
          <Line>{[s.mode, s.zone].filter(Boolean).join(' · ')}</Line>
        </span>
        {s.lastRun && (
          <Link href={`/runs/${s.lastRun}`} className={styles.last}>
            last run {s.lastStatus ? <Status of={s.lastStatus} /> : 'deleted'}
          </Link>
        )}
      </div>
      <p className={styles.facts}>
        {s.paused ? (
          <strong className={styles.paused} title={exact(s.paused.at)}>
            <Line>{`paused by ${s.paused.by}, ${ago(s.paused.at)}`}</Line>
          </strong>
        ) : s.next ? (
          <span title={exact(s.next)}>next {ago(s.next)}</span>
        ) : (
          <span>no time is planned</span>
        )}
        {s.skip && (
          <span className={styles.paused} title={exact(s.skip.until)}>
            <Line>{`skipped until ${exact(s.skip.until)} by ${s.skip.by}`}</Line>
          </span>
        )}
        {s.asked && <span>a run was asked for {ago(s.asked.at)}</span>}
      </p>
      {s.problem && (
        <p className={styles.problem}>
          <Text>{s.problem}</Text>
        </p>
      )}
      {s.refused && (
        <p className={styles.problem}>
          <strong>Runs refused since {exact(s.refused.since)}: </strong>
          <Text>{s.refused.reason}</Text>
        </p>
      )}
      {times.length > 0 && (
        <Strip times={times} all={all} skipUntil={s.skip?.until ?? null} paused={s.paused !== null} />
      )}
      {s.program === null && may(session, 'edit') && <Controls s={s} />}
    </li>
  )
}

// Strip shows the next times of all schedules on one axis.
function Strip({
  times,
  all,
  skipUntil,
  paused,
}: {
  times: string[]
  all: string[]
  skipUntil: string | null
  paused: boolean
}) {
  return (
    <div
      className={styles.strip}
      role="img"
      aria-label={`Next times: ${times.map(exact).join('; ')}`}
      data-paused={paused || undefined}
    >
      {placesOf(times, all, Date.now()).map((at, i) => (
        <span
          key={times[i]}
          title={exact(times[i]!)}
          data-skipped={(skipUntil !== null && Date.parse(times[i]!) <= Date.parse(skipUntil)) || undefined}
          style={{left: `${at * 100}%`}}
        />
      ))}
    </div>
  )
}

const verbs = ['pause', 'resume', 'skip', 'run'] as const
const words = {pause: 'Pause', resume: 'Resume', skip: 'Skip the next', run: 'Run now'}

function Controls({s}: {s: Scheduled}) {
  const queries = useQueryClient()
  const act = useMutation({
    mutationFn: (verb: (typeof verbs)[number]) =>
      ask(client.POST(`/api/v1/schedules/{id}/${verb}`, {params: {path: {id: s.workflow}, query: queryOf(s)}})),
    onSettled: () => queries.invalidateQueries({queryKey: ['schedules']}),
  })
  return (
    <div className={styles.controls}>
      {verbs
        .filter(v =>
          v === 'pause' ? !s.paused : v === 'resume' ? s.paused : v === 'skip' ? s.next !== null && !s.paused : true,
        )
        .map(v => (
          <Button
            key={v}
            disabled={act.isPending}
            onClick={() => act.mutate(v)}
            aria-label={`${words[v]}: ${titleOf(s)}`}
          >
            {words[v]}
          </Button>
        ))}
      {act.error && <ErrorBox error={act.error} />}
    </div>
  )
}
