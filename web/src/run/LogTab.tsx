import {type InfiniteData, useInfiniteQuery, useQueryClient} from '@tanstack/react-query'
import {useEffect, useMemo, useState} from 'react'
import {ask, client, isGone} from '../api/client.ts'
import {clockTime} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import control from '../ui/control.module.css'
import {Button, Empty, ErrorBox, Loading} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {follower, grown, pacer} from './log_pages.ts'
import styles from './Rows.module.css'

// useSettled returns the number of the last event, updated at most once per second, which limits
// the requests that depend on it.
export function useSettled(live: LiveRun): number {
  const seq = live.past ?? live.view.seq // the API knows only the current run
  const [shown, set] = useState(seq)
  const paced = useMemo(() => pacer(set, 1000), [])
  const ended = live.view.endedAt !== null
  useEffect(() => paced.tell(seq, ended), [paced, seq, ended])
  useEffect(() => paced.stop, [paced])
  return shown
}

const keyOf = (id: string) => ['log', id]
const readPage = (id: string, cursor: string) =>
  ask(client.GET('/api/v1/runs/{id}/logs', {params: {path: {id}, query: {limit: 200, ...(cursor ? {cursor} : {})}}}))

const askAgainAfter = 3000

type Pages = InfiniteData<Awaited<ReturnType<typeof readPage>>, string>

// LogTab shows the log of the run from the API.
export function LogTab({live}: {live: LiveRun}) {
  const {id} = live.view
  const seq = useSettled(live)
  const [text, setText] = useState('')
  const log = useInfiniteQuery({
    queryKey: keyOf(id),
    queryFn: ({pageParam}) => readPage(id, pageParam),
    initialPageParam: '',
    getNextPageParam: page => page.next || undefined,
  })
  const there = log.data !== undefined
  const queries = useQueryClient()
  const [failed, setFailed] = useState<unknown>(null)
  const follows = useMemo(
    () =>
      follower<Pages>(
        {
          now: () => queries.getQueryData<Pages>(keyOf(id)),
          grow: was => grown(was, cursor => readPage(id, cursor)),
          put: now => queries.setQueryData<Pages>(keyOf(id), now),
          failed: error => {
            setFailed(error)
            return !isGone(error)
          },
        },
        askAgainAfter,
      ),
    [queries, id],
  )
  useEffect(() => {
    if (seq > 0 && there) follows.follow()
  }, [seq, there, follows])
  useEffect(() => follows.stop, [follows])
  if (log.error && !log.data) return <ErrorBox error={log.error} again={() => void log.refetch()} />
  if (!log.data) return <Loading what="the log" />
  const word = text.trim().toLowerCase()
  const until = live.past ? (live.events.at(-1)?.time ?? '') : ''
  const all = log.data.pages
    .flatMap(p => p.items ?? [])
    .filter(e => !until || Date.parse(e.timestamp) <= Date.parse(until))
  const rows = all.filter(e => !word || `${e.nodeId} ${e.type} ${e.content}`.toLowerCase().includes(word))
  const wrong = failed !== null && <ErrorBox error={failed} again={follows.follow} />
  if (all.length === 0) return wrong || <Empty title="The log is empty" />
  return (
    <div className={styles.tab}>
      {wrong}
      <div className={styles.bar}>
        <input
          className={control.input}
          type="search"
          aria-label="Search in the log"
          placeholder="Search in the log"
          value={text}
          onChange={e => setText(e.target.value)}
        />
      </div>
      <ol className={styles.list} tabIndex={0} aria-label="Log">
        {rows.map((e, i) => (
          <li key={i} className={styles.entry}>
            <span className={`${styles.time} mono`}>{clockTime(e.timestamp)}</span>
            <span className={styles.node}>
              <Line>{e.nodeId}</Line>
            </span>
            <span className={`${styles.type} mono ${/error/.test(e.type) ? styles.bad : ''}`}>{e.type}</span>
            <span className={styles.what}>
              <Text>
                {typeof e.content === 'string'
                  ? e.content
                  : ((e.content as {$value?: {head?: string}})?.$value?.head ?? '')}
              </Text>
            </span>
          </li>
        ))}
      </ol>
      {log.hasNextPage && (
        <Button onClick={() => void log.fetchNextPage()} disabled={log.isFetchingNextPage}>
          Load more
        </Button>
      )}
    </div>
  )
}
