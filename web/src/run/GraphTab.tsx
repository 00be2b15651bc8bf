import '@xyflow/react/dist/base.css'
import {useQuery} from '@tanstack/react-query'
import {Background, BackgroundVariant, Controls, type Edge, MarkerType, type Node, ReactFlow} from '@xyflow/react'
import {useMemo, useRef} from 'react'
import {ask, client} from '../api/client.ts'
import {count, duration, usd} from '../lib/format.ts'
import {clean} from '../lib/hostile.ts'
import {useShownTheme} from '../shell/theme.ts'
import control from '../ui/control.module.css'
import {Empty, Loading} from '../ui/parts.tsx'
import {wordOf} from '../ui/Status.tsx'
import {drawnOf, plainOf, statesOf, takenOf, timesOf} from './drawn.ts'
import {type BoxData, edgeTypes, nodeTypes, type RouteData} from './GraphBoxes.tsx'
import styles from './GraphTab.module.css'
import {childrenOf, type Heat, heatOf, heats, subagentsOf} from './inside.ts'
import {StepPanel} from './StepPanel.tsx'
import {type TabProps, useStepKeys} from './StepsTab.tsx'

const shown: Record<Heat, (n: number) => string> = {time: duration, tokens: n => `${count(n)} tok`, money: usd}

// readable is the zoom at which a title has nine pixels.
const readable = 0.65

// useDrawn asks the server for places and routes; null: it has none.
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
  useStepKeys(view.steps, place)
  const theme = useShownTheme()
  const asked = useDrawn(view.id)
  const drawn = useMemo(() => {
    if (asked.isPending) return null
    return asked.data ? drawnOf(asked.data) : definition ? plainOf(definition) : null
  }, [asked.isPending, asked.data, definition])
  const chosen = view.steps.find(s => s.seq === place.step)
  const heat = heats.find(h => h === place.heat)
  const states = useMemo(() => (drawn ? statesOf(drawn, definition, view, subagentsOf(events)) : new Map()), [drawn, definition, view, events])
  const warm = useMemo(() => (heat ? heatOf(view.steps, heat) : null), [heat, view.steps])
  const below = useMemo(() => {
    const nodeOf = new Map(view.steps.map(s => [s.seq, s.node]))
    const n = new Map<string, number>()
    for (const c of childrenOf(events)) n.set(nodeOf.get(c.step) ?? '', (n.get(nodeOf.get(c.step) ?? '') ?? 0) + 1)
    return n
  }, [events, view.steps])
  const nodes = useMemo<Node<BoxData>[]>(
    () =>
      (drawn?.nodes ?? []).map(b => {
        const state = states.get(b.id)
        const isFrame = b.kind === 'frame'
        const at = warm?.get(state?.last?.node ?? '')
        return {
          id: b.id,
          type: isFrame ? 'frame' : b.hidden ? 'point' : 'step',
          position: {x: b.x, y: b.y},
          width: b.width,
          height: b.height,
          zIndex: isFrame ? -1 : 0,
          focusable: !isFrame && !b.hidden,
          selectable: !isFrame,
          // What takes no focus has no role, and so no name.
          ...(isFrame || b.hidden ? {} : {ariaLabel: clean(`${b.title}, ${b.word}, ${wordOf(state?.status ?? 'pending')}`)}),
          data: {
            box: b,
            status: state?.status ?? 'pending',
            runs: state?.runs ?? 0,
            last: b.kind === 'subagent' ? undefined : state?.last,
            below: below.get(state?.last?.node ?? '') ?? 0,
            chosen: !isFrame && chosen !== undefined && b.kind !== 'subagent' && state?.last?.node === chosen.node,
            heat: heat && at && b.kind !== 'subagent' ? {part: at.part, text: shown[heat](at.sum)} : null,
          },
        }
      }),
    [drawn, states, warm, heat, below, chosen],
  )
  const edges = useMemo<Edge<RouteData>[]>(() => {
    const taken = takenOf(definition, view)
    const byID = new Map((drawn?.nodes ?? []).map(n => [n.id, n]))
    return (drawn?.edges ?? []).map(e => {
      const times = drawn ? timesOf(e, byID, states, taken) : 0
      const label = [clean(e.label), times > 1 ? `×${times}` : ''].filter(Boolean).join(' ')
      const isSub = e.kind === 'subagent' || e.kind === 'handoff'
      return {
        id: e.id,
        source: e.from,
        target: e.to,
        type: e.path ? 'route' : e.back ? 'default' : 'smoothstep',
        ...(label ? {label} : {}),
        data: {path: e.path, label, x: e.labelX, y: e.labelY},
        markerEnd: {type: MarkerType.ArrowClosed, width: 14, height: 14, color: times > 0 && !isSub ? 'var(--accent)' : 'var(--edge)'},
        className: isSub ? styles.sub : times > 0 ? styles.taken : e.fails ? styles.fails : e.back ? styles.back : styles.edge,
        focusable: false,
      } as Edge<RouteData>
    })
  }, [drawn, states, definition, view])
  if (asked.isPending) return <Loading what="the graph" />
  if (!drawn || drawn.nodes.length === 0) return <Empty title="The graph of this run is not known">Its steps are under Steps.</Empty>
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
            nodes={nodes}
            edges={edges}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            colorMode={theme}
            onInit={f => {
              // Where all of it would be too small to read, it begins at its top.
              const room = frame.current?.clientWidth ?? 0
              if (f.getZoom() < readable && drawn.nodes.length <= 60) void f.setViewport({zoom: readable, x: (room - drawn.width * readable) / 2, y: 16})
            }}
            fitView
            fitViewOptions={{padding: 0.12, maxZoom: 1}}
            minZoom={0.05}
            maxZoom={1.5}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable
            edgesFocusable={false}
            deleteKeyCode={null}
            onlyRenderVisibleElements={drawn.nodes.length > 150}
            preventScrolling={false}
            onNodeClick={(_, n) => {
              const step = states.get(n.id)?.last
              if (step) place.set({step: step.seq})
            }}
          >
            <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
            <Controls showInteractive={false} />
          </ReactFlow>
        </div>
        {chosen && <StepPanel live={live} step={chosen} place={place} definition={definition} />}
      </div>
    </div>
  )
}
