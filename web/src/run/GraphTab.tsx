import '@xyflow/react/dist/base.css'
import {Background, BackgroundVariant, Controls, type Edge, Handle, MarkerType, type Node, type NodeProps, Position, ReactFlow, useStore} from '@xyflow/react'
import {memo, useMemo} from 'react'
import {duration} from '../lib/format.ts'
import {clean} from '../lib/hostile.ts'
import {useShownTheme} from '../shell/theme.ts'
import {Empty} from '../ui/parts.tsx'
import {Status, wordOf} from '../ui/Status.tsx'
import {Line} from '../ui/Text.tsx'
import styles from './GraphTab.module.css'
import {layoutOf, timesOf} from './layout.ts'
import {StepPanel} from './StepPanel.tsx'
import {type TabProps, useStepKeys} from './StepsTab.tsx'
import type {DefNode, NodeState, Step} from './types.ts'
import {nodeWord, titleOf} from './words.ts'

type Data = {node: DefNode; word: string; state: NodeState | undefined; last: Step | undefined; chosen: boolean}

// shapeOf is how the kinds are told apart, beside their word.
const shapeOf = (kind: string): string =>
  ({start: 'pill', end: 'pill', agent: 'card', decide: 'hexagon', wait: 'double', fork: 'frame', map: 'stack', subflow: 'stack', tool: 'notch', exec: 'notch'})[
    kind
  ] ?? 'card'

const StepNode = memo(({data}: NodeProps<Node<Data>>) => {
  const bare = useStore(s => s.transform[2] < 0.5)
  const {node, state, last, word} = data
  const status = state?.status ?? 'pending'
  return (
    <div className={`${styles.node} ${styles[shapeOf(node.kind)]} ${styles[status]}`} data-chosen={data.chosen || undefined}>
      <Handle type="target" position={Position.Top} isConnectable={false} className={styles.handle} />
      {bare ? null : (
        <>
          <span className={styles.name}>
            <Line>{titleOf(node)}</Line>
          </span>
          <span className={styles.detail}>
            <span>{word}</span>
            {state && state.runs > 1 && <span>×{state.runs}</span>}
            {last && last.attempt > 1 && <span>↻{last.attempt}</span>}
            {last?.items && (
              <span>
                {last.items.done}/{last.items.total}
              </span>
            )}
            <span>{duration(last?.durationMs)}</span>
            <span className={styles.state}>{status !== 'pending' && <Status of={status} brief />}</span>
          </span>
        </>
      )}
      <Handle type="source" position={Position.Bottom} isConnectable={false} className={styles.handle} />
    </div>
  )
})

const nodeTypes = {step: StepNode}

export default function GraphTab({live, place, definition}: TabProps) {
  const {view} = live
  useStepKeys(view.steps, place)
  const theme = useShownTheme()
  const drawn = useMemo(() => (definition ? layoutOf(definition) : null), [definition])
  const chosen = view.steps.find(s => s.seq === place.step)
  const last = useMemo(() => new Map(view.steps.map(s => [s.node, s])), [view.steps])
  const byID = useMemo(() => new Map((definition?.nodes ?? []).map(n => [n.id, n])), [definition])
  const nodes = useMemo<Node<Data>[]>(() => {
    const states = new Map(view.nodes.map(n => [n.node, n]))
    return (drawn?.boxes ?? []).map(b => {
      const node = byID.get(b.id)!
      const state = states.get(b.id)
      const word = nodeWord(node, definition?.format ?? '')
      return {
        id: b.id,
        type: 'step',
        position: {x: b.x, y: b.y},
        width: b.width,
        height: b.height,
        ariaLabel: clean(`${titleOf(node)}, ${word}, ${wordOf(state?.status ?? 'pending')}`),
        data: {node, word, state, last: last.get(b.id), chosen: chosen?.node === b.id},
      }
    })
  }, [drawn, view.nodes, byID, last, chosen?.node, definition?.format])
  const edges = useMemo<Edge[]>(
    () =>
      (drawn?.links ?? []).map(l => {
        const times = l.paths.length === 0 ? (last.has(l.to) ? 1 : 0) : timesOf(l, view.taken)
        const label = [l.label === l.to ? '' : clean(l.label), times > 1 ? `×${times}` : ''].filter(Boolean).join(' ')
        return {
          id: `${l.from}\n${l.to}`,
          source: l.from,
          target: l.to,
          type: l.back ? 'default' : 'smoothstep',
          ...(label ? {label} : {}),
          markerEnd: {type: MarkerType.ArrowClosed, width: 14, height: 14, color: times > 0 ? 'var(--accent)' : 'var(--edge)'},
          className: times > 0 ? styles.taken : l.back ? styles.back : styles.edge,
          focusable: false,
        }
      }),
    [drawn, view.taken, last],
  )
  if (!drawn || drawn.boxes.length === 0) return <Empty title="The graph of this run is not known">Its steps are under Steps.</Empty>
  const height = Math.max(280, Math.min(720, Math.max(...drawn.boxes.map(b => b.y)) + 200))
  return (
    <div className={styles.split} data-open={chosen ? true : undefined}>
      <div className={styles.graph} style={{height}}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          colorMode={theme}
          fitView
          fitViewOptions={{padding: 0.15, maxZoom: 1}}
          minZoom={0.05}
          maxZoom={1.5}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable
          edgesFocusable={false}
          deleteKeyCode={null}
          onlyRenderVisibleElements={drawn.boxes.length > 150}
          preventScrolling={false}
          onNodeClick={(_, n) => {
            const step = last.get(n.id)
            if (step) place.set({step: step.seq})
          }}
        >
          <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      {chosen && <StepPanel live={live} step={chosen} place={place} definition={definition} />}
    </div>
  )
}
