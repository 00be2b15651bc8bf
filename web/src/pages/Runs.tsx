import {useVirtualizer} from '@tanstack/react-virtual'
import {Search} from 'lucide-react'
import {useDeferredValue, useEffect, useRef, useState} from 'react'
import {Link, useLocation, useSearch} from 'wouter'
import {count} from '../lib/format.ts'
import {clean} from '../lib/hostile.ts'
import {useKeys} from '../shell/keys.ts'
import control from '../ui/control.module.css'
import {Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {wordOf} from '../ui/Status.tsx'
import {RunRow} from './RunRow.tsx'
import styles from './Runs.module.css'
import {type Filter, noFilter, readFilter, spans, useCounts, useRuns, writeFilter} from './runs_query.ts'

const statuses = ['running', 'paused', 'completed', 'failed', 'cancelled', 'pending']

// RunsPage is the live list of runs. The filter is in the address.
export function RunsPage() {
  const search = useSearch()
  const [, go] = useLocation()
  const filter = readFilter(search)
  const set = (part: Partial<Filter>) => go(`/runs${writeFilter({...filter, ...part})}`, {replace: true})
  const counts = useCounts(filter)
  const all = counts.data
  return (
    <Page title="Runs" wide>
      <div className={styles.filters}>
        <TextSearch q={filter.q} set={q => set({q})} />
        <select
          className={control.select}
          aria-label="Workflow"
          value={filter.workflow}
          onChange={e => set({workflow: e.target.value})}
        >
          <option value="">All workflows</option>
          {options(Object.keys(all?.workflow ?? {}), filter.workflow).map(w => (
            <option key={w} value={w}>
              {clean(w)}
            </option>
          ))}
        </select>
        <select
          className={control.select}
          aria-label="Trigger"
          value={filter.trigger}
          onChange={e => set({trigger: e.target.value})}
        >
          <option value="">Any trigger</option>
          {options(Object.keys(all?.trigger ?? {}), filter.trigger).map(t => (
            <option key={t} value={t}>
              {clean(t)}
            </option>
          ))}
        </select>
        <select
          className={control.select}
          aria-label="Time"
          value={filter.from}
          onChange={e => set({from: e.target.value})}
        >
          <option value="">Any time</option>
          {Object.entries(spans).map(([id, s]) => (
            <option key={id} value={id}>
              {s.name}
            </option>
          ))}
        </select>
      </div>
      <div className={styles.counts} role="group" aria-label="Status">
        <Chip name="All" n={all?.total} on={filter.status === ''} click={() => set({status: ''})} />
        {statuses
          .filter(s => (all?.status[s] ?? 0) > 0 || filter.status === s || s === 'running' || s === 'failed')
          .map(s => (
            <Chip
              key={s}
              name={wordOf(s)}
              n={all?.status[s] ?? 0}
              on={filter.status === s}
              click={() => set({status: filter.status === s ? '' : s})}
            />
          ))}
      </div>
      <List filter={filter} />
    </Page>
  )
}

const options = (all: string[], chosen: string): string[] => (chosen && !all.includes(chosen) ? [chosen, ...all] : all)

function Chip({name, n, on, click}: {name: string; n: number | undefined; on: boolean; click: () => void}) {
  return (
    <button type="button" className={styles.chip} aria-pressed={on} onClick={click}>
      {name} <span>{n === undefined ? '' : count(n)}</span>
    </button>
  )
}

function TextSearch({q, set}: {q: string; set: (q: string) => void}) {
  const [text, setText] = useState(q)
  const late = useDeferredValue(text)
  const field = useRef<HTMLInputElement>(null)
  const said = useRef(q)
  useKeys({'/': () => field.current?.focus()})
  useEffect(() => {
    if (late === said.current) return
    const timer = setTimeout(() => {
      said.current = late
      set(late)
    }, 200)
    return () => clearTimeout(timer)
  })
  return (
    <label className={styles.search}>
      <Search size={14} aria-hidden />
      <span className="hidden">Search in inputs, outputs and errors</span>
      <input
        ref={field}
        className={control.input}
        type="search"
        placeholder="Search in inputs, outputs, errors"
        value={text}
        onChange={e => setText(e.target.value)}
        onKeyDown={e => e.key === 'Escape' && field.current?.blur()}
      />
      <kbd>/</kbd>
    </label>
  )
}

function List({filter}: {filter: Filter}) {
  const runs = useRuns(filter)
  const [, go] = useLocation()
  const box = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(-1)
  const rows = runs.data?.pages.flatMap(p => p.items ?? []) ?? []
  const narrow = useNarrow()
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current?.closest('main') ?? null,
    estimateSize: () => (narrow ? 78 : 46),
    overscan: 12,
    scrollMargin: box.current?.offsetTop ?? 0,
    getItemKey: i => rows[i]?.id ?? i,
  })
  const items = virtual.getVirtualItems()
  const lastShown = items.at(-1)?.index ?? 0
  const {hasNextPage, isFetchingNextPage, fetchNextPage} = runs
  useEffect(() => {
    if (lastShown >= rows.length - 20 && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [lastShown, rows.length, hasNextPage, isFetchingNextPage, fetchNextPage])
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    setAt(next)
    virtual.scrollToIndex(next)
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const r = rows[at]
      if (r) go(`/runs/${r.id}`)
    },
  })
  if (runs.error && rows.length === 0) return <ErrorBox error={runs.error} again={() => void runs.refetch()} />
  if (runs.isPending) return <Loading what="runs" />
  if (rows.length === 0) {
    return writeFilter(filter) ? (
      <Empty title="No run is like that">
        <p>
          <Link href={`/runs${writeFilter(noFilter)}`}>Show all runs</Link>
        </p>
      </Empty>
    ) : (
      <Empty title="There are no runs yet">
        <p>
          Start one from a <Link href="/workflows">workflow</Link>, with a <Link href="/">sample</Link>, or from a
          shell:
        </p>
        <pre>hocket run newsroom.yaml "The library opens on Sundays"</pre>
      </Empty>
    )
  }
  return (
    <div ref={box} className={styles.list} role="table" aria-label="Runs" aria-rowcount={rows.length}>
      <div role="row" className={styles.headRow}>
        {['Status', 'Workflow', 'Input', 'Trigger', 'Started', 'Took', 'Tokens', 'Cost'].map(h => (
          <span key={h} role="columnheader">
            {h}
          </span>
        ))}
      </div>
      <div role="rowgroup" className={styles.rows} style={{height: virtual.getTotalSize()}}>
        {items.map(v => {
          const r = rows[v.index]!
          return (
            <div
              key={v.key}
              role="row"
              aria-rowindex={v.index + 1}
              className={styles.row}
              data-at={v.index === at || undefined}
              style={{transform: `translateY(${v.start - (virtual.options.scrollMargin ?? 0)}px)`, height: v.size}}
            >
              <RunRow run={r} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

function useNarrow(): boolean {
  const [narrow, set] = useState(() => window.innerWidth <= 760)
  useEffect(() => {
    const m = window.matchMedia('(max-width: 760px)')
    const f = () => set(m.matches)
    m.addEventListener('change', f)
    return () => m.removeEventListener('change', f)
  }, [])
  return narrow
}
