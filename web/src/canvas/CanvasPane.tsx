import {may} from '../api/session.ts'
import type {DocumentModel} from '../edit/model.ts'
import {useText} from '../edit/use_model.ts'
import {useSession} from '../shell/session.ts'
import {ErrorBox, Loading} from '../ui/parts.tsx'
import CanvasEditor from './CanvasEditor.tsx'
import {readCanvas} from './document.ts'
import type {Problem} from './problem.ts'
import {whyNot} from './runnable.ts'
import {Follow, LastRun, TestRun, useTesting} from './TestRun.tsx'
import {useStoredLayout} from './use_stored_layout.ts'

// Checked is what the server says of a text; text is the one that was checked.
type Checked = {check: {text: string; problems: readonly Problem[]; inputs?: unknown} | null; error: unknown}

type Props = {id: string; model: DocumentModel; checking: Checked; readOnly: boolean; onOpenText: (range: {from: number; to: number}) => void}

const none: readonly never[] = []

// CanvasPane is the drawing in the editor of a stored workflow: with the problems that the server finds, test runs, and what each node did last.
export default function CanvasPane({id, model, checking, readOnly, onOpenText}: Props) {
  const who = useSession()
  const text = useText(model)
  const testing = useTesting(id)
  const {base, error} = useStoredLayout(id, model, may(who, 'edit'), !readOnly)
  const {check} = checking
  const problems = check?.problems ?? none
  const why = whyNot({role: may(who, 'edit'), checked: check?.text === text, failed: checking.error !== null, problems, running: testing.running})
  const first = problems.find(p => p.severity === 'error')
  const drawn = readCanvas(text)
  const start = 'why' in drawn ? undefined : drawn.nodes.find(n => n.kind === 'start')?.data.initialInput
  if (!base) return <Loading what="the canvas" />
  return (
    <>
      {error !== null && <ErrorBox error={error} />}
      {testing.run && <Follow key={testing.run} run={testing.run} follow={testing.follow} />}
      <CanvasEditor
        model={model}
        problems={problems}
        readOnly={readOnly}
        base={base}
        onOpenText={onOpenText}
        states={testing.states}
        last={node => <LastRun testing={testing} node={node} />}
        tools={
          <TestRun
            testing={testing}
            text={text}
            format="canvas"
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
