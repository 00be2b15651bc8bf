import {Handle, type Node, type NodeProps, Position, useStore} from '@xyflow/react'
import {memo} from 'react'
import {isFar} from '../ui/far.ts'
import {Spots} from '../ui/Spots.tsx'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {type CanvasNode, subagent} from './document.ts'
import styles from './Flow.module.css'
import {handlePlaces, waysOf} from './handles.ts'
import {handleWord} from './rules.ts'
import {kindWords} from './words.ts'

export type FlowData = {
  node: CanvasNode
  stray: string // handles of edges that the node does not have, separated by line feeds
  trouble: 'error' | 'warning' | ''
  troubles: number
  state: string // state in the last run
  line: string // summary in a few words
  first: boolean // whether runs start with the node
  across: boolean // whether edges lead from left to right
}

// titleOf returns the title of a node; a start node has no name of its own.
export const titleOf = (n: CanvasNode): string =>
  n.kind === 'start' && n.name === n.id ? 'Start' : n.name || n.id || '—'

export type FlowNodeType = Node<FlowData, 'step'>

// FlowNode draws a node: its kind as shape and icon, and its outputs with their names. If there are
// many nodes, they are drawn without details when viewed from far away.
export const FlowNode = memo(({data}: NodeProps<FlowNodeType>) => {
  const bare = useStore(s => isFar(s.transform[2], s.nodes.length))
  const {node, trouble, troubles, across} = data
  const strays = data.stray === '' ? [] : data.stray.split('\n')
  const all = waysOf(node, strays)
  const {word, icon: Icon} = kindWords(node.kind)
  const conditions = Array.isArray(node.data.conditions) ? node.data.conditions : []
  return (
    <div
      className={`${styles.node} ${styles[node.kind ?? 'unknown'] ?? ''}`}
      data-trouble={trouble || undefined}
      data-state={data.state || undefined}
      data-across={across || undefined}
      data-bare={bare || undefined}
    >
      {bare && <Spots at={handlePlaces(node, strays, across)} />}
      {!bare && (
        <>
          <Handle type="target" id="input" position={across ? Position.Left : Position.Top} className={styles.in} />
          {node.kind === 'agent' && node.format === 'canvas' && (
            <Handle type="target" id="asked" position={across ? Position.Top : Position.Left} className={styles.in} />
          )}
          <span className={styles.head}>
            <Icon size={15} aria-hidden="true" />
            <span className={styles.name}>
              <Line max={60}>{titleOf(node)}</Line>
            </span>
            {data.first && <span className={styles.first}>first</span>}
            {troubles > 0 && <span className={styles.trouble}>{troubles}</span>}
          </span>
          <span className={styles.detail}>
            <Line max={60}>{data.line || word}</Line>
            {data.state && <Status of={data.state} brief />}
          </span>
        </>
      )}
      {!bare &&
        all.map((h, i) => (
          <Handle
            key={h}
            type="source"
            id={h}
            position={across ? Position.Right : Position.Bottom}
            className={`${styles.out} ${i >= all.length - strays.length ? styles.stray : ''}`}
            style={{[across ? 'top' : 'left']: `${((i + 0.5) / all.length) * 100}%`}}
            isConnectableEnd={false}
          />
        ))}
      {!bare && all.length > 1 && (
        <span className={styles.ways} aria-hidden="true">
          {all.map(h => (
            <span key={h}>
              <Line max={24}>{handleWord(h, conditions)}</Line>
            </span>
          ))}
        </span>
      )}
      {!bare && node.kind === 'agent' && node.format === 'canvas' && (
        <Handle
          type="source"
          id={subagent}
          position={across ? Position.Bottom : Position.Right}
          className={`${styles.out} ${styles.ask}`}
          isConnectableEnd={false}
          title="sub-agent"
        />
      )}
    </div>
  )
})
