import {useVirtualizer} from '@tanstack/react-virtual'
import {ChevronLeft} from 'lucide-react'
import {useMemo, useRef} from 'react'
import {Link, useLocation, useSearch} from 'wouter'
import {count, duration, usd} from '../lib/format.ts'
import type {LiveRun} from '../live/run_source.ts'
import {useRun} from '../live/use_run.ts'
import {Awaited, isThere} from '../run/Awaited.tsx'
import {alignOf, firstDifference, type Row, sumsOf} from '../run/align.ts'
import {useDefinition} from '../run/definition.ts'
import {Pair} from '../run/Iterations.tsx'
import type {Step} from '../run/types.ts'
import {Compare as Diff} from '../ui/Compare.tsx'
import {Button, Empty, ErrorBox} from '../ui/parts.tsx'
import {Status} from '../ui/Status.tsx'
import {Line, Text} from '../ui/Text.tsx'
import styles from './Compare.module.css'

const names: [string, string] = ['Left', 'Right']

// ComparePage shows two runs side by side, step by step: where they first differ, the outputs of
// their steps, their durations and their costs.
export function ComparePage({left, right}: {left: string; right: string}) {
  const [a, b] = [useDefinition(left), useDefinition(right)]
  const [one, other] = [useRun(left, a.data), useRun(right, b.data)]
  const inside = () => {
    const error = a.error ?? b.error
    if (error) return <ErrorBox error={error} />
    if (!isThere(one) || !isThere(other)) return <Awaited of={[one, other]} what="both runs" />
    return <Both left={one} right={other} />
  }
  return (
    <div className={styles.page}>
      <Link href={`/runs/${left}`} className={styles.back}>
        <ChevronLeft size={14} aria-hidden /> Run
      </Link>
      <h1>Compare two runs</h1>
      {inside()}
    </div>
  )
}

function Both({left, right}: {left: LiveRun; right: LiveRun}) {
  const query = useSearch()
  const [path, go] = useLocation()
  const rows = useMemo(() => alignOf(left.view.steps, right.view.steps), [left.view.steps, right.view.steps])
  const first = firstDifference(rows)
  const chosen = rows.find(r => r.key === new URLSearchParams(query).get('row'))
  const open = (r: Row | undefined) => go(r ? `${path}?${new URLSearchParams({row: r.key})}` : path, {replace: true})
  return (
    <>
      <div className={styles.heads}>
        <Head live={left} />
        <Head live={right} />
      </div>
      <Sums left={left} right={right} />
      <details>
        <summary>Inputs and outputs</summary>
        <div className={styles.inside}>
          <h2>Input</h2>
          <Diff left={left.view.input} right={right.view.input} names={names} label="Inputs" />
          <h2>Output</h2>
          <Diff left={left.view.output} right={right.view.output} names={names} label="Outputs" />
        </div>
      </details>
      {rows.length === 0 ? (
        <Empty title="Neither run has a step" />
      ) : (
        <>
          <p className={styles.first}>
            {first < 0 ? (
              'No step differs.'
            ) : (
              <>
                <span>
                  The first difference is at{' '}
                  <strong>
                    <Text>{rows[first]!.name}</Text>
                  </strong>
                  .
                </span>
                <Button onClick={() => open(rows[first])}>Show it</Button>
              </>
            )}
          </p>
          <Rows rows={rows} first={first} chosen={chosen} open={open} />
          {chosen && <Chosen row={chosen} close={() => open(undefined)} />}
        </>
      )}
    </>
  )
}

function Head({live}: {live: LiveRun}) {
  const {view} = live
  return (
    <section className={styles.head}>
      <Status of={view.status} />
      <Link href={`/runs/${view.id}`}>
        <Line>{view.workflow.name || view.workflow.id || 'Run'}</Line>
      </Link>
      {view.workflow.version !== null && <span>v{view.workflow.version}</span>}
      <code>{view.id.slice(-8)}</code>
    </section>
  )
}

const show = (name: string, n: number | null): string =>
  name === 'time' ? duration(n) || 'running' : name === 'money' ? usd(n) : count(n ?? 0)

// differenceOf describes how much more or less the right run took.
function differenceOf(name: string, a: number | null, b: number | null): string {
  if (a === null || b === null || a === b) return ''
  return `${b > a ? '+' : '−'}${show(name, Math.abs(b - a))}`
}

function Sums({left, right}: {left: LiveRun; right: LiveRun}) {
  return (
    <table className={styles.sums}>
      <thead>
        <tr>
          <th scope="col">
            <span className="hidden">Measure</span>
          </th>
          <th scope="col">Left</th>
          <th scope="col">Right</th>
          <th scope="col">Difference</th>
        </tr>
      </thead>
      <tbody>
        {sumsOf(left.view, right.view).map(s => (
          <tr key={s.name}>
            <th scope="row">{s.name}</th>
            <td>{show(s.name, s.left)}</td>
            <td>{show(s.name, s.right)}</td>
            <td>{differenceOf(s.name, s.left, s.right)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Rows({
  rows,
  first,
  chosen,
  open,
}: {
  rows: Row[]
  first: number
  chosen: Row | undefined
  open: (r: Row) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 48,
    overscan: 10,
  })
  return (
    <div ref={box} className={styles.rows} tabIndex={0} role="region" aria-label="Steps of both runs">
      <ol className={styles.inner} style={{height: virtual.getTotalSize()}}>
        {virtual.getVirtualItems().map(v => {
          const r = rows[v.index]!
          return (
            <li key={r.key} className={styles.item} style={{transform: `translateY(${v.start}px)`}}>
              <button
                type="button"
                aria-pressed={chosen?.key === r.key}
                data-differs={r.differs.length > 0 || undefined}
                onClick={() => open(r)}
              >
                <span className={styles.name}>
                  <Line>{r.name}</Line>
                  <small>
                    {(r.left ?? r.right)!.iteration > 1 ? `iteration ${(r.left ?? r.right)!.iteration} · ` : ''}
                    {v.index === first ? 'first difference: ' : ''}
                    {!r.left
                      ? 'right alone'
                      : !r.right
                        ? 'left alone'
                        : r.differs.length === 0
                          ? 'the same'
                          : `${r.differs.join(', ')} differs`}
                  </small>
                </span>
                <Side step={r.left} />
                <Side step={r.right} />
              </button>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function Side({step}: {step: Step | null}) {
  if (!step) return <span className={styles.side}>–</span>
  return (
    <span className={styles.side}>
      <Status of={step.status} brief />
      {duration(step.durationMs)}
    </span>
  )
}

function Chosen({row, close}: {row: Row; close: () => void}) {
  return (
    <section className={styles.chosen} aria-label={`Step ${row.name}`}>
      <div className={styles.title}>
        <h2>
          <Line>{row.name}</Line>
        </h2>
        <Button onClick={close}>Close</Button>
      </div>
      {row.left && row.right ? (
        <Pair left={row.left} right={row.right} names={names} />
      ) : (
        <p>{row.left ? 'The left' : 'The right'} run alone has this step.</p>
      )}
    </section>
  )
}
