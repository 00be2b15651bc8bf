import type {EditorView} from '@codemirror/view'
import {lazy, Suspense, useEffect, useMemo, useRef, useState} from 'react'
import {useSearch} from 'wouter'
import {may} from '../api/session.ts'
import {narrow} from '../canvas/editor_parts.ts'
import {graphOf, graphsOf} from '../canvas/graphs.ts'
import {Follow, useTesting} from '../canvas/TestRun.tsx'
import {useStoredLayout} from '../canvas/use_stored_layout.ts'
import {useKeys} from '../shell/keys.ts'
import {useSession as useSignedIn} from '../shell/session.ts'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, ErrorBox, Loading} from '../ui/parts.tsx'
import {Conflict} from './Conflict.tsx'
import type {Problem} from './check.ts'
import {DrawingPane} from './DrawingPane.tsx'
import {type DrawnNode, nodeAt} from './drawing.ts'
import {EditHead} from './EditHead.tsx'
import styles from './Editor.module.css'
import {Found} from './Found.tsx'
import {Problems} from './Problems.tsx'
import {panes, useBranch, usePane} from './panes.ts'
import type {Stored} from './stored.ts'
import {TextEditor} from './TextEditor.tsx'
import {Failure, TextTest} from './TextTesting.tsx'
import {isUnstored} from './unstored.ts'
import {useCheck} from './use_check.ts'
import {useText} from './use_model.ts'
import {useLeaving, useSession} from './use_session.ts'
import {useSchema, useVocabulary} from './use_vocabulary.ts'

const AnswerPane = lazy(() => import('../wait/AnswerPane.tsx'))
const CanvasPane = lazy(() => import('../canvas/CanvasPane.tsx'))

// Editor edits one workflow: it shows the head, the text and the problems and, for a canvas
// document, the canvas in alternation with the text. On narrow screens it shows one part at a time.
export function Editor({id, stored}: {id: string; stored: Stored}) {
  const who = useSignedIn()
  const mayEdit = may(who, 'edit')
  const {session, state, model} = useSession(who.namespace, id, stored)
  const isNew = isUnstored(state.stored)
  const own = `/workflows/${encodeURIComponent(id)}/edit`
  const search = useSearch()
  const asked = useBranch(own, search)
  const text = useText(model)
  const [format, setFormat] = useState(stored.definition.format)
  // Canvas and rounds documents in JSON are drawn by hand; documents in YAML are edited as text.
  const hand = format === 'canvas' || format === 'rounds' ? format : null
  const canvas = hand !== null && text.trimStart().startsWith('{')
  // A graph without an id of its own is identified by its index, which cannot be sent to the
  // server.
  const graph = useMemo(() => (canvas ? graphOf(graphsOf(text, hand), asked.at) : null), [canvas, hand, text, asked.at])
  const branch = graph ? (graph.key === graph.id ? graph.id : '') : asked.at
  const [cursor, setCursor] = useState(-1)
  const checking = useCheck(model, branch)
  const {check} = checking
  const schema = useSchema(format)
  const known = useVocabulary(format, schema.data)
  useEffect(() => {
    if (check?.format) setFormat(check.format)
  }, [check])
  const at = useMemo(
    () => (check?.drawing ? (nodeAt(check.drawing.nodes ?? [], cursor)?.id ?? '') : ''),
    [check, cursor],
  )
  const leaving = useLeaving(session, state.unsaved, own)
  const pane = usePane(own, search, canvas)
  const layout = useStoredLayout(
    id,
    model,
    isNew,
    canvas && mayEdit && !isNew,
    canvas && mayEdit && !isNew && state.found === null,
  )
  const shown = panes.filter(p => (p.id === 'canvas' ? canvas : p.id === 'drawing' ? !canvas : true))
  const readOnly = !mayEdit || state.found !== null
  const view = useRef<EditorView | null>(null)
  // Text and drawing are created when they are first shown: hidden ones would cost as much on each
  // change of the canvas.
  const beside = useRef(false)
  beside.current ||= pane.at !== 'canvas'
  useKeys({
    'mod+s': () => {
      if (mayEdit) void session.save()
    },
  })
  // front reports whether the answer is the part that is shown if there is room for only one.
  const [front, setFront] = useState(true)
  const show = (from: number, to: number) => {
    setFront(false)
    pane.set('text')
    // The text may be created only now: the position is shown once there is a view of it.
    requestAnimationFrame(() => {
      model.select(from, to)
      view.current?.focus()
    })
  }
  const go = (p: Problem) => p.at && show(p.at.from, p.at.to)
  const goNode = (n: DrawnNode) => n.span && show(n.span.start.offset, n.span.start.offset)
  const testing = useTesting(id, branch)
  const answering = testing.answered !== null
  useEffect(() => {
    if (testing.answering) setFront(true)
  }, [testing.answering])
  const covers = answering && front && narrow()
  const root = useRef<HTMLDivElement>(null)
  // back lists where the focus moves once the answer is closed: to the first element that accepts
  // it, which a hidden or disabled one does not.
  const back = useRef<string[]>([])
  const closeAnswer = (answered: boolean) => {
    // never the button that stops the run
    back.current = ['[data-starts]', '[data-drawing]', '.cm-content', '[role=tab][aria-selected=true]']
    if (!answered) back.current.unshift('[data-answers]') // the answered wait will close in a moment
    testing.answer(null)
  }
  useEffect(() => {
    if (answering) return
    const all = back.current.flatMap(b => [...root.current!.querySelectorAll<HTMLElement>(b)])
    back.current = []
    all.some(e => {
      e.focus()
      return e === document.activeElement
    })
  }, [answering])
  // A node in the address is shown once, when the server has located it.
  const node = useRef(new URLSearchParams(search).get('node'))
  const goNodeNow = useRef(goNode)
  goNodeNow.current = goNode
  useEffect(() => {
    if (!check || node.current === null) return
    const drawn = check.drawing?.nodes?.find(n => n.node === node.current && n.span)
    node.current = null
    if (drawn) goNodeNow.current(drawn)
  }, [check])
  return (
    <div ref={root} className={styles.editor}>
      <EditHead id={id} session={session} state={state} mayEdit={mayEdit} checking={checking} />
      {state.found && (
        <Found
          found={state.found}
          stored={state.stored}
          restore={() => session.restore()}
          discard={() => session.discard()}
        />
      )}
      {isNew && (
        <p className={styles.note}>
          Nothing of this workflow is stored: the server stores no document with errors. This browser keeps the text.
          Correct what is marked, and store it with <em>Save draft</em>.
        </p>
      )}
      {state.error !== null && (
        <div className={styles.error}>
          <ErrorBox error={state.error} />
        </div>
      )}
      {state.conflict ? (
        <Conflict
          theirs={state.conflict}
          mine={model.text}
          typed={text => session.merging(text)}
          resolve={text => session.resolve(text)}
        />
      ) : (
        <>
          <div
            className={styles.panes}
            role="tablist"
            aria-label="Parts of the editor"
            data-canvas={canvas || undefined}
          >
            {shown.map(p => (
              <button
                key={p.id}
                type="button"
                role="tab"
                aria-selected={pane.at === p.id && !covers}
                data-pane={p.id}
                className={styles.pane}
                onClick={() => {
                  setFront(false)
                  pane.set(p.id)
                }}
              >
                {p.label}
                {p.id === 'problems' && check && check.problems.length > 0 && <span>{check.problems.length}</span>}
              </button>
            ))}
            {answering && (
              <button
                type="button"
                role="tab"
                aria-selected={covers}
                data-pane="answer"
                className={styles.pane}
                onClick={() => setFront(true)}
              >
                Answer
              </button>
            )}
          </div>
          {hand && !canvas && (
            <p className={styles.note}>
              This document is YAML. It is drawn beside its text and edited as text: only {hand} documents in JSON are
              drawn by hand, since comments and anchors of YAML would not stay as they are.
            </p>
          )}
          {!canvas && <Failure testing={testing} nodes={check?.drawing?.nodes ?? []} go={goNode} />}
        </>
      )}
      {testing.followed.map(run => (
        <Follow key={run} run={run} follow={testing.follow} />
      ))}
      <div
        hidden={state.conflict !== null}
        data-pane={pane.at}
        data-answer={answering ? (front ? 'front' : 'behind') : undefined}
        className={styles.body}
      >
        {!state.conflict && (
          <>
            {pane.at === 'canvas' && (
              <div className={styles.canvas}>
                <Suspense fallback={<Loading what="the canvas" />}>
                  <CanvasPane
                    id={id}
                    model={model}
                    format={hand!}
                    graph={graph!}
                    setGraph={asked.set}
                    layout={layout}
                    schema={schema}
                    testing={testing}
                    checking={checking}
                    readOnly={readOnly}
                    onOpenText={r => show(r.from, r.to)}
                  />
                </Suspense>
              </div>
            )}
            <div className={styles.text}>
              {beside.current && (
                <TextEditor
                  model={model}
                  check={check}
                  known={known}
                  readOnly={readOnly}
                  label="Document"
                  opened={v => {
                    view.current = v
                  }}
                  cursor={setCursor}
                />
              )}
            </div>
            <div className={styles.drawing}>
              {beside.current && (
                <DrawingPane
                  check={check}
                  at={at}
                  branch={branch}
                  setBranch={asked.set}
                  go={goNode}
                  states={testing.states}
                  tools={
                    !canvas && (
                      <TextTest id={id} text={text} testing={testing} checking={checking} mayRun={mayEdit} go={go} />
                    )
                  }
                />
              )}
            </div>
            <div className={styles.problems}>
              <Problems checking={checking} again={checking.again} go={go} />
            </div>
          </>
        )}
        {answering && (
          <div className={styles.answer}>
            <Suspense fallback={<Loading what="what waits" />}>
              <AnswerPane
                live={testing.answered!}
                isDrawn={testing.wait !== null}
                asked={testing.answering!}
                go={testing.goOn}
                close={closeAnswer}
              />
            </Suspense>
          </div>
        )}
      </div>
      {leaving && (
        <Dialog title="Leave without storing?" close={leaving.stay}>
          <p>
            What you changed is not stored on the server.{' '}
            {state.kept
              ? 'This browser keeps it, and offers it when you come back.'
              : 'This browser cannot keep it: it will be lost.'}
          </p>
          <div className={styles.choices}>
            <Button kind="primary" data-first onClick={leaving.stay}>
              Stay
            </Button>
            <Button
              onClick={() => {
                session.keepNow()
                leaving.stay()
                leaving.go()
              }}
            >
              Leave
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
