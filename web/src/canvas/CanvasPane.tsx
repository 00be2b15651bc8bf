import {may} from '../api/session.ts'
import type {DocumentModel} from '../edit/model.ts'
import {useText} from '../edit/use_model.ts'
import type {SchemaQuery} from '../edit/use_vocabulary.ts'
import {useSession} from '../shell/session.ts'
import {ErrorBox, Loading} from '../ui/parts.tsx'
import {useCatalog} from './agents.ts'
import CanvasEditor from './CanvasEditor.tsx'
import {canvasShape, type Format, readCanvas} from './document.ts'
import {type Graph, shapeOf} from './graphs.ts'
import type {Problem} from './problem.ts'
import {whyNot} from './runnable.ts'
import {LastRun, type Testing, TestRun} from './TestRun.tsx'
import type {StoredLayout} from './use_stored_layout.ts'

// Checked is the server's check of a text; text is the text that was checked.
type Checked = {check: {text: string; problems: readonly Problem[]; inputs?: unknown} | null; error: unknown}

type Props = {
  id: string
  model: DocumentModel
  format: Format
  graph: Graph // the graph that is drawn
  setGraph: (key: string) => void
  layout: StoredLayout
  schema: SchemaQuery
  testing: Testing
  checking: Checked
  readOnly: boolean
  onOpenText: (range: {from: number; to: number}) => void
}

const none: readonly never[] = []

// CanvasPane is the drawing in the editor of a stored workflow, with the problems that the server
// finds, test runs, and the last result of each node.
export default function CanvasPane({
  id,
  model,
  format,
  graph,
  setGraph,
  layout,
  schema,
  testing,
  checking,
  readOnly,
  onOpenText,
}: Props) {
  const who = useSession()
  const text = useText(model)
  const {base, error} = layout
  const agents = useCatalog(format === 'rounds')
  const {check} = checking
  const problems = check?.problems ?? none
  const why = whyNot({
    role: may(who, 'edit'),
    checked: check?.text === text,
    failed: checking.error !== null,
    problems,
    running: testing.running,
  })
  const first = problems.find(p => p.severity === 'error')
  const drawn = format === 'canvas' ? readCanvas(text, canvasShape) : null
  const start = !drawn || 'why' in drawn ? undefined : drawn.nodes.find(n => n.kind === 'start')?.data.initialInput
  if (!base) return <Loading what="the canvas" />
  return (
    <>
      {error !== null && <ErrorBox error={error} />}
      {schema.error !== null && <ErrorBox error={schema.error} again={schema.again} />}
      {agents.error !== null && <ErrorBox error={agents.error} again={agents.again} />}
      <CanvasEditor
        key={shapeOf(format, graph).graph.join()}
        model={model}
        format={format}
        graph={graph.key}
        setGraph={setGraph}
        schema={schema.data}
        catalog={agents.catalog}
        problems={problems}
        readOnly={readOnly}
        base={base}
        onOpenText={onOpenText}
        states={testing.states}
        beside={testing.live?.view.waiting.find(w => w.id === testing.wait)?.node ?? null}
        last={node => <LastRun testing={testing} node={node} />}
        tools={
          <TestRun
            testing={testing}
            text={text}
            format={format}
            name={id}
            initial={typeof start === 'string' ? start : ''}
            inputs={check?.inputs}
            why={why}
            showProblem={first?.at ? () => first.at && onOpenText(first.at) : null}
          />
        }
      />
    </>
  )
}
