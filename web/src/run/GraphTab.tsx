import '@xyflow/react/dist/base.css'
import {useQuery} from '@tanstack/react-query'
import {Background, BackgroundVariant, Controls, ReactFlow, type ReactFlowInstance} from '@xyflow/react'
import {useMemo, useRef} from 'react'
import {ask, client} from '../api/client.ts'
import {count, duration, usd} from '../lib/format.ts'
import {useKept} from '../lib/use_kept.ts'
import {useStable} from '../lib/use_stable.ts'
import {useShownTheme} from '../shell/theme.ts'
import control from '../ui/control.module.css'
import {Empty, Loading} from '../ui/parts.tsx'
import {type BoxNode, boxesOf, type RouteEdge, routesOf, sameBox, sameRoute} from './boxes.ts'
import {type DrawnNode, drawnOf, plainOf, statesOf, takenOf} from './drawn.ts'
import {edgeTypes, nodeTypes} from './GraphBoxes.tsx'
import styles from './GraphTab.module.css'
import {childrenOf, type Heat, heatOf, heats, subagentsOf} from './inside.ts'
import {Refit} from './Refit.tsx'
import {StepPanel} from './StepPanel.tsx'
import {type TabProps, useStepKeys} from './StepsTab.tsx'
import type {Step} from './types.ts'

const shown: Record<Heat, (n: number) => string> = {time: duration, tokens: n => `${count(n)} tok`, money: usd}

// factsOf summarizes how a box ran: the number of executions, attempts, items and child runs, and
// the selected measure or the duration.
const factsOf = (last: Step | undefined, runs: number, below: number, heat: string): string =>
  [
    runs > 1 ? `×${runs}` : '',
    last && last.attempt > 1 ? `↻${last.attempt}` : '',
    last?.items ? `${last.items.done}/${last.items.total}` : '',
    below > 0 ? `▤${below}` : '',
    heat || duration(last?.durationMs),
  ]
    .filter(Boolean)
    .join(' ')

// readable is the zoom at which a title is nine pixels high.
const readable = 0.65

const fitting = {padding: 0.12, maxZoom: 1}

// useDrawn requests positions and routes from the server; null means that it has none.
function useDrawn(id: string) {
  return useQuery({
    queryKey: ['graph', id],
    queryFn: async () => (await ask(client.GET('/api/v1/runs/{id}/graph', {params: {path: {id}}}))).graph,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
}

export default function GraphTab({live, place, definition}: TabProps) {
  const {view, events} = live
  const frame = useRef<HTMLDivElement>(null)
  const flow = useRef<ReactFlowInstance<BoxNode, RouteEdge> | null>(null)
  const moved = useRef(false) // whether the user has changed the view
  useStepKeys(view.steps, place)
  const theme = useShownTheme()
  const asked = useDrawn(view.id)
  const drawn = useMemo(() => {
    if (asked.isPending) return null
    return asked.data ? drawnOf(asked.data) : definition ? plainOf(definition) : null
  }, [asked.isPending, asked.data, definition])
  const chosen = view.steps.find(s => s.seq === place.step)
  const heat = heats.find(h => h === place.heat)
  const states = useMemo(
    () => (drawn ? statesOf(drawn, definition, view, subagentsOf(events)) : new Map()),
    [drawn, definition, view, events],
  )
  const warm = useMemo(() => (heat ? heatOf(view.steps, heat) : null), [heat, view.steps])
  const below = useMemo(() => {
    const nodeOf = new Map(view.steps.map(s => [s.seq, s.node]))
    const n = new Map<string, number>()
    for (const c of childrenOf(events)) n.set(nodeOf.get(c.step) ?? '', (n.get(nodeOf.get(c.step) ?? '') ?? 0) + 1)
    return n
  }, [events, view.steps])
  const nodes = useMemo(() => {
    if (!drawn) return []
    const stateOf = (b: DrawnNode) => states.get(b.id)
    const stepOf = (b: DrawnNode) => (b.kind === 'subagent' ? undefined : stateOf(b)?.last)
    const warmth = (b: DrawnNode) => (b.kind === 'subagent' ? undefined : warm?.get(stateOf(b)?.last?.node ?? ''))
    return boxesOf(drawn, states, {
      facts: b =>
        factsOf(
          stepOf(b),
          stateOf(b)?.runs ?? 0,
          below.get(stateOf(b)?.last?.node ?? '') ?? 0,
          heat && warmth(b) ? shown[heat](warmth(b)!.sum) : '',
        ),
      heat: b => warmth(b)?.part ?? null,
      chosen: b => chosen !== undefined && stepOf(b)?.node === chosen.node,
    })
  }, [drawn, states, warm, heat, below, chosen])
  const edges = useMemo(
    () => (drawn ? routesOf(drawn, states, takenOf(definition, view)) : []),
    [drawn, states, definition, view],
  )
  const shownNodes = useKept(nodes, sameBox)
  const shownEdges = useKept(edges, sameRoute)
  const moving = useStable((e: unknown) => {
    if (e) moved.current = true // by hand, not by the page
  })
  const tapped = useStable((_: unknown, n: BoxNode) => {
    const step = states.get(n.id)?.last
    if (step) place.set({step: step.seq})
  })
  if (asked.isPending) return <Loading what="the graph" />
  if (!drawn || drawn.nodes.length === 0)
    return <Empty title="The graph of this run is not known">Its steps are under Steps.</Empty>
  const small = () => (flow.current?.getZoom() ?? 1) < readable && drawn.nodes.length <= 60
  // The selected box stays in view if the whole graph would be too small to read.
  const refit = async () => {
    if (moved.current || !flow.current) return
    await flow.current.fitView(fitting)
    const box = chosen && nodes.find(n => n.data.chosen)
    if (box && small())
      void flow.current.setCenter(box.position.x + (box.width ?? 0) / 2, box.position.y + (box.height ?? 0) / 2, {
        zoom: readable,
      })
  }
  const height = Math.max(300, Math.min(720, drawn.height + 80))
  return (
    <div className={styles.tab}>
      <label className={styles.heat}>
        Heat
        <select className={control.select} value={heat ?? ''} onChange={e => place.set({heat: e.target.value || null})}>
          <option value="">none</option>
          {heats.map(h => (
            <option key={h} value={h}>
              {h}
            </option>
          ))}
        </select>
      </label>
      <div className={styles.split} data-open={chosen ? true : undefined}>
        <div className={styles.graph} style={{height}} ref={frame}>
          <ReactFlow
            nodes={shownNodes}
            edges={shownEdges}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            colorMode={theme}
            onInit={f => {
              flow.current = f
              // If the whole graph would be too small to read, the view starts at its top.
              const room = frame.current?.clientWidth ?? 0
              if (small()) void f.setViewport({zoom: readable, x: (room - drawn.width * readable) / 2, y: 16})
            }}
            fitView
            fitViewOptions={fitting}
            onMove={moving}
            minZoom={0.05}
            maxZoom={1.5}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable
            edgesFocusable={false}
            deleteKeyCode={null}
            onlyRenderVisibleElements={drawn.nodes.length > 150}
            preventScrolling={false}
            onNodeClick={tapped}
          >
            <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
            <Controls
              showInteractive={false}
              fitViewOptions={fitting}
              onZoomIn={() => {
                moved.current = true
              }}
              onZoomOut={() => {
                moved.current = true
              }}
              onFitView={() => {
                moved.current = false
              }}
            />
            <Refit fit={() => void refit()} />
          </ReactFlow>
        </div>
        {chosen && <StepPanel live={live} step={chosen} place={place} definition={definition} />}
      </div>
    </div>
  )
}
