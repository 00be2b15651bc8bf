import {ListTree, Maximize, Network, Plus} from 'lucide-react'
import {type ClipboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState} from 'react'
import type {DocumentModel} from '../edit/model.ts'
import {plural} from '../lib/format.ts'
import {useKeys} from '../shell/keys.ts'
import {Button, Empty} from '../ui/parts.tsx'
import {Text} from '../ui/Text.tsx'
import {type Catalog, knownAgents, unread} from './agents.ts'
import type {Graphs} from './branches.ts'
import styles from './CanvasEditor.module.css'
import {Add, Connect, GoTo} from './Choose.tsx'
import {copyText, duplicate, paste} from './clipboard.ts'
import {type Format, type Kind, type Point, subagent} from './document.ts'
import {focusPart, narrow, reveal} from './editor_parts.ts'
import {Flow, type FlowInstance} from './Flow.tsx'
import {EdgeForm, GraphForm} from './GraphForm.tsx'
import {GraphTools} from './GraphTools.tsx'
import {Inspector} from './Inspector.tsx'
import {Outline} from './Outline.tsx'
import {addNode, connect, isRefused, type Layout, remove} from './operations.ts'
import {Palette} from './Palette.tsx'
import {arranged, nodeHeight, nodeWidth, sizeOf} from './places.ts'
import {branchOf, type Problem, troublesOf} from './problem.ts'
import {RefusedBar} from './RefusedBar.tsx'
import {makeGraphs} from './steps.ts'
import {type Editing, indicesOf, nodeOf, useEditing} from './use_editing.ts'
import {type Actions, keysOf} from './use_keys.ts'

type Props = {
  model: DocumentModel
  format: Format
  graph: string // the key of the graph that is drawn
  setGraph: (key: string) => void
  schema: unknown // the published schema of the format; undefined until it is known
  catalog?: Catalog
  problems: readonly Problem[]
  readOnly: boolean
  onOpenText: (range: {from: number; to: number}) => void
  states?: ReadonlyMap<string, string> // states of the nodes in the last run
  last?: (node: string) => ReactNode // renders the node's part of the last run
  tools?: ReactNode // tools of the shell
  beside?: string | null // the node that a pane next to the drawing is about
  base?: Layout // the stored positions
}

const noBase: Layout = {}

// CanvasEditor draws a canvas document and edits its text: the drawing always shows the text, and
// both share their undo history with the text editor.
export default function CanvasEditor(props: Props) {
  const editing = useEditing(props.model, props.readOnly, props.base ?? noBase, props.format, props.graph)
  if ('why' in editing) {
    return (
      <div className={styles.unread}>
        <Empty title="The document cannot be drawn as it is">
          <p>
            <Text>{editing.why}</Text>
          </p>
          <Button onClick={() => props.onOpenText({from: editing.offset, to: editing.offset})}>Show in the text</Button>
        </Empty>
      </div>
    )
  }
  return <Drawn {...props} editing={editing} />
}

type Dialogs =
  | {what: 'connect'}
  | {what: 'go'}
  | {what: 'add'; at?: Point; behind?: {from: string; handle: string}}
  | null

const noStates: ReadonlyMap<string, string> = new Map()

function Drawn({
  model,
  setGraph,
  schema,
  catalog = unread,
  problems,
  readOnly,
  onOpenText,
  editing,
  states = noStates,
  last,
  tools,
  beside = null,
  base = noBase,
}: Props & {editing: Editing}) {
  const {c, graph, nodes, edges, current, full, places, select, place, act, refused, refuse} = editing
  const root = useRef<HTMLDivElement>(null)
  const flow = useRef<FlowInstance | null>(null)
  const [dialog, setDialog] = useState<Dialogs>(null)
  const [open, setOpen] = useState(false)
  const [side, setSide] = useState(false)
  const [said, setSaid] = useState('')
  const troubles = useMemo(() => troublesOf(c, problems, graph.id), [c, problems, graph.id])
  const errors = useMemo(() => {
    const out = new Map<number | null, number>()
    for (const p of problems) if (p.severity === 'error') out.set(branchOf(p), (out.get(branchOf(p)) ?? 0) + 1)
    return out
  }, [problems])
  const known = useMemo(() => knownAgents(c, catalog.agents), [c, catalog])

  useEffect(() => model.subscribe(u => setSaid(`${u.how === 'do' ? '' : `${u.how}: `}${u.label}`)), [model])
  // focus moves to a node as soon as it is drawn.
  const focus = useCallback((key: string) => {
    let tries = 0
    const go = () => {
      const at = root.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(key)}"]`)
      at?.focus({preventScroll: true})
      if ((!at || document.activeElement !== at) && tries++ < 30) requestAnimationFrame(go)
    }
    go()
  }, [])

  const node = nodeOf(c, current)
  // show brings a node into view if it is outside.
  const show = (key: string) => {
    const p = places.get(key)
    const n = nodeOf(c, key)
    if (p && n && flow.current) reveal(flow.current, root.current, {...p, ...sizeOf(n)})
  }
  const shown = open && node !== undefined && nodes.size === 1
  const edge = open && nodes.size === 0 && edges.size === 1 ? c.edges.find(e => edges.has(e.key)) : undefined
  const settings = open && nodes.size === 0 && !edge
  const form = shown || settings || edge !== undefined
  // An opened node stays in view next to the inspector, or next to another open pane.
  const showNow = useRef(show)
  showNow.current = show
  const opened = shown ? current : beside
  useEffect(() => {
    if (opened === null) return
    const timer = setTimeout(() => showNow.current(opened), 80) // the drawing has its new width by then
    return () => clearTimeout(timer)
  }, [opened])
  const goTo = (key: string) => {
    show(key)
    focus(key)
  }
  // freeAt returns a position for a node: behind another node, or in the middle of the visible
  // area.
  const freeAt = (behind?: {from: string; handle: string}): Point => {
    const p = behind ? places.get(behind.from) : undefined
    const box = root.current?.querySelector('[data-drawing]')?.getBoundingClientRect()
    const size = p && behind ? sizeOf(nodeOf(c, behind.from)!) : null
    let at: Point = {x: 0, y: 0}
    if (p && size)
      at = behind?.handle === subagent ? {x: p.x + size.width + 48, y: p.y} : {x: p.x, y: p.y + size.height + 56}
    else if (flow.current && box) {
      const mid = flow.current.screenToFlowPosition({x: box.left + box.width / 2, y: box.top + box.height / 2})
      at = {x: Math.round(mid.x - nodeWidth / 2), y: Math.round(mid.y - nodeHeight / 2)}
    }
    const taken = (q: Point) =>
      [...places.values()].some(o => Math.abs(o.x - q.x) < nodeWidth && Math.abs(o.y - q.y) < nodeHeight + 8)
    for (let i = 0; taken(at) && i < 200; i++)
      at =
        behind?.handle === subagent || !p ? {x: at.x, y: at.y + nodeHeight + 24} : {x: at.x + nodeWidth + 24, y: at.y}
    return at
  }
  const addKind = (kind: Kind, behind?: {from: string; handle: string}, at?: Point, agent?: string) => {
    const step = addNode(c, full, kind, at ?? freeAt(behind), behind, agent)
    if (act(step) && 'select' in step) {
      const id = step.select![0]!
      focus(id)
      requestAnimationFrame(() => showNow.current(id))
    }
  }
  const link = (handle: string, to: string) => {
    if (!node) return
    const drawn = {from: node.id, handle, to}
    setDialog(null)
    act(connect(c, drawn), {anyway: () => act(connect(c, drawn, true))})
    focus(node.id)
  }
  const openForm = () => {
    setOpen(true)
    requestAnimationFrame(() =>
      root.current?.querySelector<HTMLElement>('[data-inspector] :is(input, textarea, select)')?.focus(),
    )
  }
  const focusDrawing = () => {
    if (current !== null) focus(current)
    else root.current?.querySelector<HTMLElement>('[data-drawing]')?.focus({preventScroll: true})
  }
  const closeForm = () => {
    setOpen(false)
    root.current?.querySelector<HTMLElement>('[data-drawing]')?.focus({preventScroll: true})
  }
  // changeGraphs adds, renames and deletes graphs in one step with the positions of their nodes,
  // and shows the result.
  const changeGraphs = (g: Graphs): boolean => {
    if (isRefused(g)) return act(g)
    if (readOnly) return false
    refuse(null)
    makeGraphs(model, base, g)
    if (g.show !== undefined) setGraph(g.show)
    return true
  }
  const actions: Actions = {
    open: openForm,
    settings: () => {
      select([])
      openForm()
    },
    find: () => c.nodes.length > 0 && setDialog({what: 'go'}),
    part: back => focusPart(root.current, back),
    connect: () => setDialog({what: 'connect'}),
    add: () => setDialog({what: 'add'}),
    remove: () => {
      if (nodes.size + edges.size === 0) return
      const links = c.edges.filter(e => edges.has(e.key)).map(e => e.index)
      act(remove(c, full, indicesOf(c, nodes), links))
      root.current?.querySelector<HTMLElement>('[data-drawing]')?.focus({preventScroll: true})
    },
    duplicate: () => nodes.size > 0 && void act(duplicate(c, full, indicesOf(c, nodes))),
    fit: () => void flow.current?.fitView({padding: 0.2, maxZoom: 1}),
    tidy: () => {
      place(Object.fromEntries(arranged(c)), 'tidy')
      requestAnimationFrame(() => void flow.current?.fitView({padding: 0.2, maxZoom: 1}))
    },
    focus: goTo,
  }
  useKeys({
    '/': actions.find,
    s: actions.settings,
    F6: e => actions.part(e.shiftKey),
  })
  const inField = (e: ClipboardEvent) =>
    (e.target as HTMLElement).closest('input, textarea, select, dialog, [data-inspector]') !== null
  const copy = (e: ClipboardEvent, cut: boolean) => {
    if (inField(e) || nodes.size === 0) return
    e.preventDefault()
    e.clipboardData.setData('text/plain', copyText(c, full, indicesOf(c, nodes)))
    setSaid(`copied ${plural(nodes.size, 'node')}`)
    if (cut && !readOnly) actions.remove()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the drawing inside
    <div
      ref={root}
      className={styles.editor}
      data-open={form || undefined}
      data-side={side || undefined}
      onKeyDown={keysOf(editing, actions)}
      onCopy={e => copy(e, false)}
      onCut={e => copy(e, true)}
      onPaste={e => {
        if (inField(e) || readOnly) return
        e.preventDefault()
        act(paste(c, full, e.clipboardData.getData('text/plain')))
      }}
    >
      <div className={styles.tools} role="toolbar" aria-label="Drawing" data-part="tools">
        <Button kind="quiet" className={styles.onlyNarrow} aria-expanded={side} onClick={() => setSide(!side)}>
          {readOnly ? <ListTree size={16} /> : <Plus size={16} />} Nodes
        </Button>
        {!readOnly && (
          <Button kind="quiet" title="Place all nodes anew (t)" onClick={actions.tidy}>
            <Network size={16} /> Tidy
          </Button>
        )}
        <Button kind="quiet" title="Show all nodes (f)" onClick={actions.fit}>
          <Maximize size={16} /> Fit
        </Button>
        <GraphTools
          editing={editing}
          errors={errors}
          show={setGraph}
          done={changeGraphs}
          settings={() => (settings ? setOpen(false) : actions.settings())}
          open={settings}
        />
        {tools}
      </div>
      <aside className={styles.side} aria-label="Nodes">
        {!readOnly && (
          <div data-part="palette">
            <h2>Add</h2>
            <Palette
              format={c.shape.format}
              add={kind => {
                setSide(false)
                addKind(kind)
              }}
              hasStart={c.nodes.some(n => n.kind === 'start')}
              disabled={readOnly}
            />
          </div>
        )}
        <div data-part="outline" className={styles.outline}>
          <h2>Outline</h2>
          <Outline editing={editing} troubles={troubles} />
        </div>
      </aside>
      <section
        className={styles.drawing}
        data-drawing
        data-part="drawing"
        tabIndex={0}
        aria-label={
          'Drawing. Arrows follow edges, / finds a node, Enter opens it, c connects it, a adds one behind it, ' +
          'Delete deletes it, F6 goes to the next part'
        }
        aria-describedby={form || c.nodes.length === 0 ? undefined : 'how-to-open'}
        onFocus={e => {
          const key = (e.target as HTMLElement).closest<HTMLElement>('.react-flow__node')?.dataset.id
          if (key !== undefined && !nodes.has(key)) select([key])
        }}
      >
        <Flow
          editing={editing}
          troubles={troubles}
          states={states}
          ready={f => {
            flow.current = f
          }}
          open={actions.open}
          tap={() => narrow() && setOpen(true)}
          pane={() => narrow() && setOpen(false)}
          ask={(at, behind) =>
            setDialog({what: 'add', at: {x: Math.round(at.x - nodeWidth / 2), y: Math.round(at.y)}, behind})
          }
        />
        {!form && c.nodes.length > 0 && (
          <p className={styles.tip} id="how-to-open">
            Double-click a node, or choose it and press Enter, to open its form
          </p>
        )}
        {c.nodes.length === 0 && (
          <div className={styles.hint}>
            <p>
              {c.shape.format === 'canvas'
                ? 'Nothing is drawn yet. A workflow begins with a start node.'
                : 'Nothing is drawn yet. A run begins with the first node, and agents speak in turn along the edges.'}
            </p>
            {!readOnly && (
              <Button kind="primary" onClick={() => addKind(c.shape.format === 'canvas' ? 'start' : 'agent')}>
                {c.shape.format === 'canvas' ? 'Add the start' : 'Add an agent'}
              </Button>
            )}
          </div>
        )}
      </section>
      {refused && <RefusedBar refused={refused} close={() => refuse(null)} back={focusDrawing} />}
      {shown && node && (
        <div className={styles.inspector} data-inspector data-part="form">
          <Inspector
            key={node.index}
            editing={editing}
            node={node}
            schema={schema}
            catalog={catalog}
            problems={troubles.get(current!) ?? []}
            openText={onOpenText}
            openEdge={e => select([], [e.key])}
            connect={actions.connect}
            last={last?.(node.id)}
            close={() => {
              setOpen(false)
              goTo(current!)
            }}
          />
        </div>
      )}
      {edge && (
        <div className={styles.inspector} data-inspector data-part="form">
          <EdgeForm key={edge.key} editing={editing} edge={edge} schema={schema} close={closeForm} />
        </div>
      )}
      {settings && (
        <div className={styles.inspector} data-inspector data-part="form">
          <GraphForm
            key={graph.key}
            editing={editing}
            schema={schema}
            problems={troubles.get('') ?? []}
            openText={onOpenText}
            change={changeGraphs}
            show={setGraph}
            close={closeForm}
          />
        </div>
      )}
      <p className="hidden" role="status">
        {said}
      </p>
      {dialog?.what === 'connect' && node && (
        <Connect editing={editing} from={node} done={link} close={() => setDialog(null)} />
      )}
      {dialog?.what === 'add' && (
        <Add
          editing={editing}
          behind={dialog.behind ? (nodeOf(c, dialog.behind.from) ?? null) : (node ?? null)}
          {...(dialog.behind ? {handle: dialog.behind.handle} : {})}
          agents={known}
          done={(kind, handle, agent) => {
            const from = dialog.behind?.from ?? node?.id
            setDialog(null)
            addKind(kind, from && handle ? {from, handle} : undefined, dialog.at, agent)
          }}
          close={() => setDialog(null)}
        />
      )}
      {dialog?.what === 'go' && (
        <GoTo
          editing={editing}
          done={key => {
            setDialog(null)
            select([key])
            goTo(key)
          }}
          close={() => setDialog(null)}
        />
      )}
    </div>
  )
}
