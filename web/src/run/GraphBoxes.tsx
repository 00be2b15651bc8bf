import {BaseEdge, type Edge, type EdgeProps, Handle, type Node, type NodeProps, Position, useStore} from '@xyflow/react'
import {type CSSProperties, memo} from 'react'
import {duration} from '../lib/format.ts'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import type {DrawnNode} from './drawn.ts'
import styles from './GraphTab.module.css'
import type {NodeStatus, Step} from './types.ts'

export type BoxData = {
  box: DrawnNode
  status: NodeStatus
  runs: number
  last: Step | undefined
  // below is how many runs its steps started.
  below: number
  chosen: boolean
  heat: {part: number; text: string} | null
}

// shapeOf is how the kinds are told apart, beside their word.
const shapeOf = (kind: string): string =>
  ({
    start: 'pill',
    end: 'pill',
    agent: 'card',
    decide: 'hexagon',
    wait: 'double',
    fork: 'forked',
    map: 'stack',
    subflow: 'stack',
    tool: 'notch',
    exec: 'notch',
    subagent: 'subagent',
  })[kind] ?? 'card'

const Ends = () => (
  <>
    <Handle type="target" position={Position.Top} isConnectable={false} className={styles.handle} />
    <Handle type="source" position={Position.Bottom} isConnectable={false} className={styles.handle} />
  </>
)

const StepBox = memo(({data}: NodeProps<Node<BoxData>>) => {
  // Far away, many boxes are drawn without their texts, which take most of the time.
  const bare = useStore(s => s.transform[2] < 0.5 && s.nodes.length > 60)
  const {box, status, runs, last, heat} = data
  const flat = box.height < 50
  const numbers = [
    runs > 1 ? `×${runs}` : '',
    last && last.attempt > 1 ? `↻${last.attempt}` : '',
    last?.items ? `${last.items.done}/${last.items.total}` : '',
    data.below > 0 ? `▤${data.below}` : '',
  ]
  const facts = [...numbers, heat ? heat.text : duration(last?.durationMs)].filter(Boolean).join(' ')
  return (
    <div
      className={`${styles.node} ${styles[shapeOf(box.kind)]} ${styles[status]}`}
      data-chosen={data.chosen || undefined}
      data-heat={heat ? true : undefined}
      style={heat ? ({'--heat': `${Math.round(heat.part * 40)}%`} as CSSProperties) : undefined}
    >
      <Ends />
      {bare ? null : (
        <>
          <span className={styles.top}>
            <span className={styles.name}>
              <Line>{box.title}</Line>
            </span>
            {flat && facts && <span className={styles.facts}>{facts}</span>}
            {status !== 'pending' && <Status of={status} brief />}
          </span>
          {!flat && (
            <span className={styles.detail}>
              <span className={styles.what}>
                <Line>{box.detail || box.word}</Line>
              </span>
              {facts && <span className={styles.facts}>{facts}</span>}
            </span>
          )}
        </>
      )}
    </div>
  )
})

const Frame = memo(({data}: NodeProps<Node<BoxData>>) => (
  <div className={styles.frame}>
    <Ends />
    {data.box.title && (
      <span className={styles.frameTitle}>
        <Line>{data.box.title}</Line>
      </span>
    )}
  </div>
))

const Point = memo(() => (
  <div className={styles.point}>
    <Ends />
  </div>
))

export type RouteData = {path: string; label: string; x: number; y: number}

// Route draws an edge where the server routed it.
const Route = memo(({id, data, markerEnd}: EdgeProps<Edge<RouteData>>) => {
  const {path = '', label = '', x = 0, y = 0} = data ?? {}
  const known = x !== 0 || y !== 0
  return (
    <BaseEdge
      id={id}
      path={path}
      {...(markerEnd ? {markerEnd} : {})}
      {...(label && known ? {label, labelX: x, labelY: y, labelBgPadding: [4, 2] as [number, number], labelBgBorderRadius: 4} : {})}
    />
  )
})

export const nodeTypes = {step: StepBox, frame: Frame, point: Point}
export const edgeTypes = {route: Route}
