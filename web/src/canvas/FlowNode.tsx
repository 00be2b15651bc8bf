import {Handle, type Node, type NodeProps, Position, useStore, useUpdateNodeInternals} from '@xyflow/react'
import {memo, useEffect} from 'react'
import {Status} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import {type CanvasNode, handlesOf, subagent} from './document.ts'
import styles from './Flow.module.css'
import {handleWord} from './rules.ts'
import {kindWords} from './words.ts'

export type FlowData = {
  node: CanvasNode
  stray: string // handles of edges that the node does not have, apart by line feeds
  trouble: 'error' | 'warning' | ''
  troubles: number
  state: string // of the last run
  line: string // what it is in a few words
  across: boolean // edges lead from left to right
}

// titleOf is what a node is called; a start has no name of its own.
export const titleOf = (n: CanvasNode): string => (n.kind === 'start' && n.name === n.id ? 'Start' : n.name || n.id || '—')

export type FlowNodeType = Node<FlowData, 'step'>

// FlowNode draws a node: its kind by shape and icon, its ways out with their names.
export const FlowNode = memo(({id, data}: NodeProps<FlowNodeType>) => {
  const bare = useStore(s => s.transform[2] < 0.5 && s.nodes.length > 60)
  const update = useUpdateNodeInternals()
  const {node, trouble, troubles, across} = data
  const ways = handlesOf(node).filter(h => h !== subagent)
  const strays = data.stray === '' ? [] : data.stray.split('\n')
  const all = [...ways, ...strays]
  const list = all.join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the handles are where they are because of the list
  useEffect(() => update(id), [id, list, bare, across, update])
  const {word, icon: Icon} = kindWords(node.kind)
  const conditions = Array.isArray(node.data.conditions) ? node.data.conditions : []
  return (
    <div
      className={`${styles.node} ${styles[node.kind ?? 'unknown']}`}
      data-trouble={trouble || undefined}
      data-state={data.state || undefined}
      data-across={across || undefined}
    >
      <Handle type="target" id="input" position={across ? Position.Left : Position.Top} className={styles.in} />
      {node.kind === 'agent' && <Handle type="target" id="asked" position={across ? Position.Top : Position.Left} className={styles.in} />}
      {!bare && (
        <>
          <span className={styles.head}>
            <Icon size={15} aria-hidden="true" />
            <span className={styles.name}>
              <Line max={60}>{titleOf(node)}</Line>
            </span>
            {troubles > 0 && <span className={styles.trouble}>{troubles}</span>}
          </span>
          <span className={styles.detail}>
            <Line max={60}>{data.line || word}</Line>
            {data.state && <Status of={data.state} brief />}
          </span>
        </>
      )}
      {all.map((h, i) => (
        <Handle
          key={h}
          type="source"
          id={h}
          position={across ? Position.Right : Position.Bottom}
          className={`${styles.out} ${i >= ways.length ? styles.stray : ''}`}
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
      {node.kind === 'agent' && (
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
