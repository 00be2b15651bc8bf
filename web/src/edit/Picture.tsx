import {type KeyboardEvent, memo, useCallback, useRef} from 'react'
import {clean} from '../lib/hostile.ts'
import {useKept} from '../lib/use_kept.ts'
import type {Drawing} from './check.ts'
import styles from './DrawingPane.module.css'
import {type DrawnEdge, type DrawnNode, pathOf, sameEdge, sameNode} from './drawing.ts'

type Props = {
  drawing: Drawing
  at: string
  states?: ReadonlyMap<string, string> | undefined
  worst: ReadonlyMap<string, string>
  go: (n: DrawnNode) => void
}

// Picture is the content of a drawing. A document is drawn again at each check: nodes and edges
// with the same position and appearance are kept, even though their text has moved.
export function Picture({drawing, at, states, worst, go}: Props) {
  const nodes = useKept(drawing.nodes ?? [], sameNode)
  const edges = useKept(drawing.edges ?? [], sameEdge)
  const now = useRef({drawing, go})
  now.current = {drawing, go}
  const goTo = useCallback((id: string) => {
    const n = now.current.drawing.nodes?.find(x => x.id === id)
    if (n) now.current.go(n)
  }, [])
  return (
    <>
      <defs>
        <marker
          id="drawn-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto-start-reverse"
        >
          <path d="M 0 0 L 8 4 L 0 8 z" className={styles.arrow} />
        </marker>
      </defs>
      {nodes.map(
        n =>
          n.kind === 'frame' && (
            <rect key={n.id} x={n.x} y={n.y} width={n.width} height={n.height} rx={10} className={styles.frame} />
          ),
      )}
      <Lines edges={edges} />
      {nodes.map(
        n =>
          n.kind !== 'frame' && (
            <Box key={n.id} n={n} at={n.id === at} state={states?.get(n.node)} problem={worst.get(n.node)} go={goTo} />
          ),
      )}
    </>
  )
}

const Lines = memo(({edges}: {edges: DrawnEdge[]}) => edges.map(e => <Line key={e.id} e={e} />))

const Line = memo(({e}: {e: DrawnEdge}) => (
  <g>
    <path
      d={pathOf(e)}
      className={styles.edge}
      data-kind={e.kind}
      data-back={e.back || undefined}
      data-fails={e.fails || undefined}
      markerEnd="url(#drawn-arrow)"
    />
    {e.label && (
      <text x={e.labelX} y={e.labelY} className={styles.label}>
        {short(clean(e.label), 28)}
      </text>
    )}
  </g>
))

type BoxProps = {
  n: DrawnNode
  at: boolean
  state: string | undefined
  problem: string | undefined
  go: (id: string) => void
}

const Box = memo(({n, at, state, problem, go}: BoxProps) => {
  const press = (e: KeyboardEvent) => {
    if (e.key !== 'Enter' && e.key !== ' ') return
    e.preventDefault()
    go(n.id)
  }
  if (n.hidden) return <circle cx={n.x + n.width / 2} cy={n.y + n.height / 2} r={3} className={styles.point} />
  return (
    <g
      role="button"
      tabIndex={n.span ? 0 : -1}
      aria-label={[`${titleOf(n)} ${wordOf(n)}`, problem, state].filter(Boolean).join(', ')}
      className={styles.node}
      data-kind={n.kind}
      data-at={at || undefined}
      data-state={state}
      data-problem={problem}
      onClick={() => go(n.id)}
      onKeyDown={press}
    >
      <rect x={n.x} y={n.y} width={n.width} height={n.height} rx={roundOf(n)} />
      <text x={n.x + n.width / 2} y={n.y + n.height / 2 - (n.word ? 4 : -4)} className={styles.title}>
        {titleOf(n)}
      </text>{' '}
      {n.word && (
        <text x={n.x + n.width / 2} y={n.y + n.height / 2 + 12} className={styles.word}>
          {wordOf(n)}
        </text>
      )}
    </g>
  )
})

const short = (text: string, n: number): string => {
  const line = text.replace(/\s+/g, ' ')
  return line.length > n ? `${line.slice(0, Math.max(1, n - 1))}…` : line
}

// The text that is drawn in a node is also its accessible name.
const titleOf = (n: DrawnNode): string => short(clean(n.title), Math.floor(n.width / 7.4))
const wordOf = (n: DrawnNode): string => short(clean(n.word), Math.floor(n.width / 6.5))

const roundOf = (n: DrawnNode): number =>
  n.kind === 'start' || n.kind === 'end' ? n.height / 2 : n.kind === 'decide' ? 2 : 8
