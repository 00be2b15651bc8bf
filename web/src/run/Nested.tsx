import {useQuery} from '@tanstack/react-query'
import {useVirtualizer} from '@tanstack/react-virtual'
import {useMemo, useRef, useState} from 'react'
import {Link} from 'wouter'
import {ask, client} from '../api/client.ts'
import {duration, usd} from '../lib/format.ts'
import {brief} from '../lib/json.ts'
import control from '../ui/control.module.css'
import {ErrorBox, Loading} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {Value} from '../ui/Value.tsx'
import {type Child, itemsOf, type Sub} from './inside.ts'
import styles from './Nested.module.css'
import type {Place} from './place.ts'
import type {Step} from './types.ts'

// ChildRun is a child run as a box that opens: its live state, and its steps.
export function ChildRun({child}: {child: Child}) {
  const [open, setOpen] = useState(false)
  const run = useQuery({
    queryKey: ['runs', 'child', child.run, open],
    queryFn: () =>
      ask(
        client.GET('/api/v1/runs/{id}', {
          params: {path: {id: child.run}, query: open ? {limit: 100} : {steps: 'none'}},
        }),
      ),
    retry: false,
  })
  const {data} = run
  return (
    <li className={styles.child}>
      <div className={styles.row}>
        {data ? <Status of={data.status} /> : <Status of={child.ended ? 'completed' : 'running'} brief />}
        <Link href={`/runs/${child.run}`} className={styles.link}>
          <Line>{data?.workflow.name || data?.workflow.id || child.run.slice(-8)}</Line>
        </Link>
        {data && data.usage.modelCalls > 0 && <span className={styles.quiet}>{usd(data.usage.costUSD)}</span>}
      </div>
      {run.error && <ErrorBox error={run.error} />}
      {!run.error && (
        <details onToggle={e => setOpen(e.currentTarget.open)}>
          <summary>Its steps</summary>
          {!data?.steps ? (
            <Loading what="the steps" />
          ) : (
            <ol className={styles.steps}>
              {data.steps.map(s => (
                <li key={s.seq}>
                  <Status of={s.status} brief />
                  <Link href={`/runs/${child.run}?tab=steps&step=${s.seq}`} className={styles.link}>
                    <Line>{s.name}</Line>
                  </Link>
                  <span className={styles.quiet}>{duration(s.durationMs)}</span>
                </li>
              ))}
              {data.stepsNext && (
                <li>
                  <Link href={`/runs/${child.run}?tab=steps`}>All its steps</Link>
                </li>
              )}
            </ol>
          )}
        </details>
      )}
    </li>
  )
}

// Subagents shows the sub-agent calls of a step, each below its caller.
export function Subagents({subs, names, run}: {subs: Sub[]; names: Map<string, {name?: string}>; run: string}) {
  return (
    <ul className={styles.subs}>
      {subs.map(s => (
        <li key={s.frame} style={{marginLeft: `${Math.min(s.depth - 1, 6) * 16}px`}}>
          <div className={styles.row}>
            <Status of={s.status} brief />
            <strong>
              <Line>{names.get(s.agent)?.name || s.agent}</Line>
            </strong>
            <span className={styles.quiet}>depth {s.depth}</span>
          </div>
          <details>
            <summary>Given and gave</summary>
            <Value of={s.input} run={run} label="what the sub-agent was given" />
            {s.error ? (
              <Value of={`${s.error.code}: ${s.error.message}`} label="its error" />
            ) : (
              <Value of={s.output} run={run} label="what the sub-agent gave" />
            )}
          </details>
        </li>
      ))}
    </ul>
  )
}

const filters = ['all', 'failed', 'running', 'completed'] as const

// Items shows the items of a map, of which there may be ten thousand: only visible rows are
// created.
export function Items({map, steps, place}: {map: Step; steps: Step[]; place: Place}) {
  const [filter, setFilter] = useState<(typeof filters)[number]>('all')
  const items = useMemo(() => itemsOf(steps, map), [steps, map])
  const rows = useMemo(
    () =>
      items.filter(
        i =>
          filter === 'all' ||
          (filter === 'running' ? i.status === 'running' || i.status === 'waiting' : i.status === filter),
      ),
    [items, filter],
  )
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 44,
    overscan: 8,
  })
  return (
    <section aria-label="Items of the map">
      <div className={styles.bar}>
        <h3>Items</h3>
        <select
          className={control.select}
          aria-label="Which items"
          value={filter}
          onChange={e => setFilter(e.target.value as typeof filter)}
        >
          {filters.map(f => (
            <option key={f} value={f}>
              {f}
            </option>
          ))}
        </select>
        <span className={styles.quiet}>
          {rows.length} of {items.length}
        </span>
      </div>
      <div ref={box} className={styles.items} tabIndex={0} role="region" aria-label="Items">
        <ol className={styles.inner} style={{height: virtual.getTotalSize()}}>
          {virtual.getVirtualItems().map(v => {
            const i = rows[v.index]!
            const at = i.steps.find(s => s.status === 'failed') ?? i.steps.at(-1)
            return (
              <li key={i.item} className={styles.item} style={{transform: `translateY(${v.start}px)`}}>
                <button type="button" disabled={!at} onClick={() => at && place.set({step: at.seq})}>
                  <Status of={i.status} brief />
                  <span>item {i.item + 1}</span>
                  <span className={styles.what}>
                    <Line>{at ? preview(at) : ''}</Line>
                  </span>
                  <span className={styles.quiet}>{duration(i.durationMs)}</span>
                </button>
              </li>
            )
          })}
        </ol>
      </div>
    </section>
  )
}

const preview = (s: Step): string => {
  if (s.error) return `${s.error.code}: ${typeof s.error.message === 'string' ? s.error.message : ''}`
  return brief(s.output) || s.name
}
