import {keepPreviousData, useInfiniteQuery} from '@tanstack/react-query'
import {useEffect, useState} from 'react'
import {ask, client} from '../api/client.ts'
import {clockTime} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import control from '../ui/control.module.css'
import {Button, Empty, ErrorBox, Loading} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import styles from './Rows.module.css'

// useSettled gives the number of the last event, at most once in a second: what is asked by it is asked so often.
export function useSettled(live: LiveRun): number {
  const seq = live.past ?? live.view.seq // the API knows the run as it is
  const [shown, set] = useState(seq)
  useEffect(() => {
    if (seq === shown) return
    const timer = setTimeout(() => set(seq), live.view.endedAt ? 0 : 1000)
    return () => clearTimeout(timer)
  }, [seq, shown, live.view.endedAt])
  return shown
}

// LogTab is the log of the run, as the API tells it.
export function LogTab({live}: {live: LiveRun}) {
  const {id} = live.view
  const seq = useSettled(live)
  const [text, setText] = useState('')
  const log = useInfiniteQuery({
    queryKey: ['log', id, seq],
    queryFn: ({pageParam}) => ask(client.GET('/api/v1/runs/{id}/logs', {params: {path: {id}, query: {limit: 200, ...(pageParam ? {cursor: pageParam} : {})}}})),
    initialPageParam: '',
    getNextPageParam: page => page.next || undefined,
    placeholderData: keepPreviousData,
  })
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
