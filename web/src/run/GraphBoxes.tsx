import {BaseEdge, type EdgeProps, type NodeProps, useStore} from '@xyflow/react'
import {type CSSProperties, memo} from 'react'
import {isFar} from '../ui/far.ts'
import {Spots} from '../ui/Spots.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {type BoxNode, endsOf, type RouteEdge} from './boxes.ts'
import type {DrawnNode} from './drawn.ts'
import styles from './GraphTab.module.css'

// shapeOf returns the shape that distinguishes a kind, in addition to its name.
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

const Ends = ({box}: {box: DrawnNode}) => <Spots at={endsOf(Math.round(box.width), Math.round(box.height))} />

const StepBox = memo(({data}: NodeProps<BoxNode>) => {
  // If there are many boxes, they are drawn without text when viewed from far away, because text
  // takes most of the time.
  const bare = useStore(s => isFar(s.transform[2], s.nodes.length))
  const {box, status, facts, heat} = data
  const flat = box.height < 50
  return (
    <div
      className={`${styles.node} ${styles[shapeOf(box.kind)]} ${styles[status]}`}
      data-chosen={data.chosen || undefined}
      data-bare={bare || undefined}
      data-heat={heat === null ? undefined : true}
      style={heat === null ? undefined : ({'--heat': `${Math.round(heat * 40)}%`} as CSSProperties)}
    >
      <Ends box={box} />
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

const Frame = memo(({data}: NodeProps<BoxNode>) => (
  <div className={styles.frame}>
    <Ends box={data.box} />
    {data.box.title && (
      <span className={styles.frameTitle}>
        <Line>{data.box.title}</Line>
      </span>
    )}
  </div>
))

const Point = memo(({data}: NodeProps<BoxNode>) => (
  <div className={styles.point}>
    <Ends box={data.box} />
  </div>
))

// Route draws an edge along the route from the server.
const Route = memo(({id, data, markerEnd}: EdgeProps<RouteEdge>) => {
  const {path = '', label = '', x = 0, y = 0} = data ?? {}
  const known = x !== 0 || y !== 0
  return (
    <BaseEdge
      id={id}
      path={path}
      {...(markerEnd ? {markerEnd} : {})}
      {...(label && known
        ? {label, labelX: x, labelY: y, labelBgPadding: [4, 2] as [number, number], labelBgBorderRadius: 4}
        : {})}
    />
  )
})

export const nodeTypes = {step: StepBox, frame: Frame, point: Point}
export const edgeTypes = {route: Route}
