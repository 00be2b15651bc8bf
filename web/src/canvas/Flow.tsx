import '@xyflow/react/dist/base.css'
import {
  Background,
  BackgroundVariant,
  type Connection,
  Controls,
  type Edge,
  type FinalConnectionState,
  MarkerType,
  type NodeChange,
  ReactFlow,
  type ReactFlowInstance,
  SelectionMode,
  type Viewport,
} from '@xyflow/react'
import {type DragEvent, useMemo, useRef, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import {useKept} from '../lib/use_kept.ts'
import {useStable} from '../lib/use_stable.ts'
import {useShownTheme} from '../shell/theme.ts'
import {isFar, many} from '../ui/far.ts'
import {type CanvasNode, handlesOf, type Kind, kindsOf, output, type Point, subagent} from './document.ts'
import styles from './Flow.module.css'
import {FlowEdge, type FlowEdgeType} from './FlowEdge.tsx'
import {FlowNode, type FlowNodeType} from './FlowNode.tsx'
import {handlePlaces, straysOf} from './handles.ts'
import {addNode, connect, reconnect} from './operations.ts'
import {keyOf, sizeOf, wayOf} from './places.ts'
import type {Problem} from './problem.ts'
import {type Box, sideOf, turned} from './route.ts'
import {handleWord, type Link, refusal} from './rules.ts'
import type {Editing} from './use_editing.ts'
import {kindWords} from './words.ts'

export type FlowInstance = ReactFlowInstance<FlowNodeType, FlowEdgeType>

// dragType is the data type for a kind of node that is dragged from the palette.
export const dragType = 'application/x-hocket-node'

type Props = {
  editing: Editing
  troubles: ReadonlyMap<string, readonly Problem[]>
  states: ReadonlyMap<string, string>
  ready: (flow: FlowInstance) => void
  open: () => void
  tap: () => void // called when a node is tapped
  pane: () => void // called when the empty pane is tapped
  // ask is called when an edge is dropped at a point without a node, to add a node there.
  ask: (at: Point, behind: {from: string; handle: string}) => void
}

const nodeTypes = {step: FlowNode}
const edgeTypes = {link: FlowEdge}
const fitting = {padding: 0.2, maxZoom: 1}
const added = ['Meta', 'Control', 'Shift'] // keys that add to the selection

// Flow is the drawing: nodes are dragged, and edges are drawn and reconnected with mouse or touch.
// It draws the document and nothing else.
export function Flow({editing, troubles, states, ready, open, tap, pane, ask}: Props) {
  const {c, places, full, readOnly, nodes: chosen, edges: chosenEdges, select, place, act, refuse} = editing
  const theme = useShownTheme()
  const flow = useRef<FlowInstance | null>(null)
  const [dragged, setDragged] = useState<ReadonlyMap<string, Point> | null>(null)
  const made = useRef(new Map<string, FlowNodeType>())
  // In a large graph that is viewed from far away, neither handles nor edge ends can be grabbed, so
  // none are created.
  const [far, setFar] = useState(c.nodes.length > many)

  const across = useMemo(() => wayOf(c, places) === 'right', [c, places])
  const settled = useMemo<FlowNodeType[]>(() => {
    const strays = straysOf(c)
    const was = made.current
    made.current = new Map()
    return c.nodes.map(n => {
      const key = keyOf(c, n)
      const problems = troubles.get(key) ?? []
      const trouble = problems.some(p => p.severity === 'error')
        ? 'error'
        : problems.some(p => p.severity === 'warning')
          ? 'warning'
          : ''
      const position = places.get(key)!
      const size = sizeOf(n)
      const kind = kindWords(n.kind).word
      const stray = [...(strays.get(n.id) ?? [])]
      const next: FlowNodeType = {
        id: key,
        type: 'step',
        position,
        ...size,
        measured: size,
        handles: handlePlaces(n, stray, across),
        selected: chosen.has(key),
        ariaLabel: clean(
          `${kind} ${n.name}${n.id !== n.name ? `, id ${n.id}` : ''}` +
            `${problems.length > 0 ? `, ${problems.length} problems` : ''}`,
        ),
        data: {
          node: n,
          stray: stray.join('\n'),
          trouble,
          troubles: problems.filter(p => p.severity !== 'info').length,
          state: states.get(key) ?? '',
          line: lineOf(n, kind),
          first: c.shape.format === 'rounds' && n.index === 0,
          across,
        },
      }
      const old = was.get(key)
      const kept = old && alike(old, next) ? old : next
      made.current.set(key, kept)
      return kept
    })
  }, [c, places, chosen, troubles, states, across])
  // While nodes are dragged, only the dragged nodes are created again.
  const nodes = useMemo(() => {
    if (!dragged) return settled
    return settled.map(n => {
      const position = dragged.get(n.id)
      return position ? {...n, position} : n
    })
  }, [settled, dragged])

  const boxes = useMemo(
    () => new Map<string, Box>(c.nodes.map(n => [keyOf(c, n), {...places.get(keyOf(c, n))!, ...sizeOf(n)}])),
    [c, places],
  )
  const drawn = useMemo<FlowEdgeType[]>(() => {
    const all = [...boxes.values()]
    return c.edges.flatMap(e => {
      const from = c.byID.get(e.from)
      const to = c.byID.get(e.to)
      if (!from || !to) return []
      const asks = e.sub && from.kind === 'agent'
      const conditions = Array.isArray(from.data.conditions) ? from.data.conditions : []
      const word = asks ? 'sub-agent' : from.kind === 'agent' || e.port === output ? '' : handleWord(e.port, conditions)
      const ways = handlesOf(from).filter(h => h !== subagent)
      const [one, other] = [boxes.get(from.id)!, boxes.get(to.id)!]
      const part = (Math.max(0, ways.indexOf(e.port)) + 0.5) / Math.max(1, ways.length)
      const side = across
        ? sideOf(turned(one), one.y + one.height * part, turned(other), all.map(turned))
        : sideOf(one, one.x + one.width * part, other, all)
      const colour = asks
        ? 'var(--waiting)'
        : e.port === 'error' || e.port === 'timeout' || e.port === 'reject'
          ? 'var(--warning)'
          : 'var(--edge)'
      return {
        id: e.key,
        source: from.id,
        target: to.id,
        sourceHandle: asks ? subagent : e.port,
        targetHandle: asks && to.kind === 'agent' ? 'asked' : 'input',
        type: 'link',
        data: {asks, across, side: asks ? null : side},
        selected: chosenEdges.has(e.key),
        reconnectable: !readOnly && !far,
        ariaLabel: clean(`${from.name} to ${to.name}${word ? `, ${word}` : ''}`),
        className: asks ? styles.asks : styles.edge,
        style: {stroke: chosenEdges.has(e.key) ? 'var(--accent)' : colour},
        markerEnd: {
          type: MarkerType.ArrowClosed,
          width: 14,
          height: 14,
          color: chosenEdges.has(e.key) ? 'var(--accent)' : colour,
        },
        ...(e.label ? {label: clean(e.label)} : {}),
      } satisfies FlowEdgeType
    })
  }, [c, boxes, chosenEdges, readOnly, across, far])
  const edges = useKept(drawn, sameEdge)

  const changed = useStable((changes: NodeChange<FlowNodeType>[]) => {
    const moves = changes.flatMap(ch => (ch.type === 'position' && ch.position ? [[ch.id, ch.position] as const] : []))
    if (moves.length > 0) setDragged(d => new Map([...(d ?? []), ...moves]))
    const picks = changes.filter(ch => ch.type === 'select')
    if (picks.length > 0) {
      const now = new Set(chosen)
      for (const p of picks) {
        if (p.selected) now.add(p.id)
        else now.delete(p.id)
      }
      select(now, chosenEdges)
    }
  })
  const dropped = useStable(() => {
    if (dragged && !readOnly) {
      const moved = Object.fromEntries([...dragged].map(([k, p]) => [k, {x: Math.round(p.x), y: Math.round(p.y)}]))
      place({...full, ...moved}, dragged.size === 1 ? `move ${[...dragged.keys()][0]}` : `move ${dragged.size} nodes`)
    }
    setDragged(null)
  })
  const linkOf = (l: Connection | Edge): Link => ({from: l.source, handle: l.sourceHandle ?? output, to: l.target})
  const draw = (link: Link) => act(connect(c, link), {anyway: () => act(connect(c, link, true))})
  const lead = (index: number, link: Link) =>
    act(reconnect(c, index, link), {anyway: () => act(reconnect(c, index, link, true))})
  const ended = useStable((e: MouseEvent | TouchEvent, s: FinalConnectionState) => {
    if (readOnly || !s.fromNode || !s.fromHandle || s.fromHandle.type !== 'source') return
    const link = {from: s.fromNode.id, handle: s.fromHandle.id ?? output}
    const p = 'changedTouches' in e ? e.changedTouches[0]! : e
    const over = document
      .elementsFromPoint(p.clientX, p.clientY)
      .find(x => x.closest('.react-flow__node'))
      ?.closest<HTMLElement>('.react-flow__node')?.dataset.id
    const to = s.toNode?.id ?? over
    if (to !== undefined) {
      // An edge can be dropped on a handle or on a node; a rejected connection says why.
      if (to !== link.from || s.toNode) draw({...link, to})
      return
    }
    const at = flow.current?.screenToFlowPosition({x: p.clientX, y: p.clientY})
    if (at) ask(at, link)
  })
  const reconnected = useStable((edge: FlowEdgeType, to: Connection) => {
    const index = c.edges.find(x => x.key === edge.id)?.index
    if (index !== undefined) lead(index, linkOf(to))
  })
  const reconnectEnded = useStable((_: unknown, edge: FlowEdgeType, __: unknown, s: FinalConnectionState) => {
    const index = c.edges.find(x => x.key === edge.id)?.index
    if (index === undefined || s.isValid || !s.toNode || !s.fromNode) return
    const link =
      s.fromHandle?.type === 'source'
        ? {from: s.fromNode.id, handle: s.fromHandle.id ?? output, to: s.toNode.id}
        : {from: s.toNode.id, handle: s.toHandle?.id ?? output, to: s.fromNode.id}
    lead(index, link)
  })
  const isValid = useStable((l: Connection | Edge) => refusal(c, linkOf(l)) === null)
  const connecting = useStable(() => refuse(null))
  const edgeTapped = useStable((e: Pick<MouseEvent, 'shiftKey' | 'metaKey' | 'ctrlKey'>, edge: FlowEdgeType) => {
    const adds = e.shiftKey || e.metaKey || e.ctrlKey
    select(adds ? chosen : [], adds ? [...chosenEdges, edge.id] : [edge.id])
  })
  const paneTapped = useStable(() => {
    select([])
    pane()
  })
  const moved = useStable((_: unknown, {zoom}: Viewport) => setFar(isFar(zoom, c.nodes.length)))
  const tapped = useStable(tap)
  const opened = useStable(open)
  const drop = (e: DragEvent) => {
    const kind = e.dataTransfer.getData(dragType) as Kind
    if (!kindsOf(c.shape.format).includes(kind) || !flow.current) return
    e.preventDefault()
    const at = flow.current.screenToFlowPosition({x: e.clientX, y: e.clientY})
    act(addNode(c, full, kind, {x: Math.round(at.x - 100), y: Math.round(at.y - 30)}))
  }
  return (
    <div className={styles.flow} data-far={far || undefined}>
      <ReactFlow<FlowNodeType, FlowEdgeType>
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        colorMode={theme}
        onInit={f => {
          flow.current = f
          setFar(isFar(f.getZoom(), c.nodes.length))
          ready(f)
        }}
        fitView
        fitViewOptions={fitting}
        minZoom={0.05}
        maxZoom={1.6}
        nodesDraggable={!readOnly}
        nodesConnectable={!readOnly}
        edgesFocusable={false}
        nodesFocusable
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={added}
        selectionMode={SelectionMode.Partial}
        connectionRadius={28}
        elevateNodesOnSelect={false}
        onlyRenderVisibleElements={c.nodes.length > 1000}
        onMove={moved}
        onNodesChange={changed}
        onNodeDragStop={dropped}
        onSelectionDragStop={dropped}
        onEdgeClick={edgeTapped}
        onPaneClick={paneTapped}
        onNodeClick={tapped}
        onNodeDoubleClick={opened}
        isValidConnection={isValid}
        onConnectStart={connecting}
        onConnectEnd={ended}
        onReconnect={reconnected}
        onReconnectEnd={reconnectEnded}
        onDragOver={e => {
          e.preventDefault()
          e.dataTransfer.dropEffect = 'copy'
        }}
        onDrop={drop}
      >
        <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}

// lineOf summarizes a node in a few words.
function lineOf(n: CanvasNode, kind: string): string {
  const first = {
    agent: n.format === 'rounds' ? n.data.agentId : n.data.model,
    tool: n.data.tool,
    workflow: n.data.workflow,
    approval: n.data.prompt,
    ask: n.data.prompt,
    start: n.data.initialInput,
  }[n.kind as string]
  const text = typeof first === 'string' ? first.trim() : ''
  if (n.kind === null) return n.type
  if (n.kind === 'start') return text || n.id
  return text === '' ? kind : `${kind} · ${text}`
}

const alike = (a: FlowNodeType, b: FlowNodeType): boolean =>
  a.position.x === b.position.x &&
  a.position.y === b.position.y &&
  a.width === b.width &&
  a.height === b.height &&
  a.selected === b.selected &&
  a.ariaLabel === b.ariaLabel &&
  a.data.stray === b.data.stray &&
  a.data.trouble === b.data.trouble &&
  a.data.troubles === b.data.troubles &&
  a.data.state === b.data.state &&
  a.data.line === b.data.line &&
  a.data.first === b.data.first &&
  a.data.across === b.data.across &&
  a.data.node.kind === b.data.node.kind &&
  JSON.stringify(a.data.node.data) === JSON.stringify(b.data.node.data)

const sameEdge = (a: FlowEdgeType, b: FlowEdgeType): boolean =>
  a.source === b.source &&
  a.target === b.target &&
  a.sourceHandle === b.sourceHandle &&
  a.targetHandle === b.targetHandle &&
  a.data!.asks === b.data!.asks &&
  a.data!.across === b.data!.across &&
  a.data!.side === b.data!.side &&
  a.selected === b.selected &&
  a.reconnectable === b.reconnectable &&
  a.ariaLabel === b.ariaLabel &&
  a.style!.stroke === b.style!.stroke &&
  a.label === b.label
