import {type InfiniteData, useInfiniteQuery, useQueryClient} from '@tanstack/react-query'
import {useEffect, useMemo, useState} from 'react'
import {ask, client} from '../api/client.ts'
import {clockTime} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import control from '../ui/control.module.css'
import {Button, Empty, ErrorBox, Loading} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import {grown, inTurn, pacer} from './log_pages.ts'
import styles from './Rows.module.css'

// useSettled gives the number of the last event, at most once in a second: what is asked by it is asked so often.
export function useSettled(live: LiveRun): number {
  const seq = live.past ?? live.view.seq // the API knows the run as it is
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

type Pages = InfiniteData<Awaited<ReturnType<typeof readPage>>, string>

// LogTab is the log of the run, as the API tells it.
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
  const queries = useQueryClient()
  const follow = useMemo(
    () =>
      inTurn(async () => {
        const was = queries.getQueryData<Pages>(keyOf(id))
        const now = was && (await grown(was, cursor => readPage(id, cursor)).catch(() => was)) // it is asked again with the next event
        if (now !== was) queries.setQueryData<Pages>(keyOf(id), is => (is === was ? now : is))
      }),
    [queries, id],
  )
  const there = log.data !== undefined
  useEffect(() => {
    if (seq > 0 && there) follow()
  }, [seq, there, follow])
  if (log.error && !log.data) return <ErrorBox error={log.error} again={() => void log.refetch()} />
  if (!log.data) return <Loading what="the log" />
  const word = text.trim().toLowerCase()
  const until = live.past ? (live.events.at(-1)?.time ?? '') : ''
  const all = log.data.pages.flatMap(p => p.items ?? []).filter(e => !until || Date.parse(e.timestamp) <= Date.parse(until))
  const rows = all.filter(e => !word || `${e.nodeId} ${e.type} ${e.content}`.toLowerCase().includes(word))
  if (all.length === 0) return <Empty title="The log is empty" />
  return (
    <div className={styles.tab}>
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
              <Text>{typeof e.content === 'string' ? e.content : ((e.content as {$value?: {head?: string}})?.$value?.head ?? '')}</Text>
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
