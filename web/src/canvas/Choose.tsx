import {useMemo, useState} from 'react'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Field} from '../ui/parts.tsx'
import {Line, Text} from '../ui/Text.tsx'
import type {KnownAgent} from './agents.ts'
import styles from './Choose.module.css'
import {type CanvasNode, handlesOf, type Kind, kindsOf, subagent} from './document.ts'
import {keyOf} from './places.ts'
import {handleWord, targetsOf} from './rules.ts'
import type {Editing} from './use_editing.ts'
import {kindWords, wordsOf} from './words.ts'

const conditionsOf = (n: CanvasNode): unknown[] => (Array.isArray(n.data.conditions) ? n.data.conditions : [])

// Connect lists the nodes that a handle of a node can be connected to, and says why the others are
// not allowed.
export function Connect({
  editing,
  from,
  done,
  close,
}: {
  editing: Editing
  from: CanvasNode
  done: (handle: string, to: string) => void
  close: () => void
}) {
  const {c} = editing
  const handles = handlesOf(from)
  const free = handles.find(h => h !== subagent && !c.edges.some(e => e.from === from.id && e.port === h))
  const [handle, setHandle] = useState(free ?? handles[0]!)
  const targets = useMemo(() => targetsOf(c, from.id, handle), [c, from.id, handle])
  const first = handles.length > 1 ? null : targets.find(t => !t.refused && t.id !== from.id)?.id
  return (
    <Dialog title={`Connect ${clean(from.name)}`} close={close}>
      {handles.length > 1 && (
        <Field label="Way out">
          <select className={control.select} value={handle} onChange={e => setHandle(e.target.value)}>
            {handles.map(h => (
              <option key={h} value={h}>
                {clean(handleWord(h, conditionsOf(from)))}
              </option>
            ))}
          </select>
        </Field>
      )}
      <ul className={styles.list} aria-label="Targets">
        {targets.map(({id, refused}) => {
          const n = c.byID.get(id)!
          const {icon: Icon} = kindWords(n.kind)
          return (
            <li key={id}>
              <button
                type="button"
                className={styles.choice}
                data-first={id === first || undefined}
                data-refused={refused && !refused.fix ? true : undefined}
                onClick={() => done(handle, id)}
              >
                <Icon size={15} aria-hidden="true" />
                <span className={styles.words}>
                  <Line>{n.name === id ? id : `${n.name} (${id})`}</Line>
                  {refused && (
                    <small>
                      <Text>{refused.reason}</Text>
                    </small>
                  )}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </Dialog>
  )
}

// Add lists the kinds of nodes, to add one behind a node.
export function Add({
  editing,
  behind,
  handle: given,
  agents,
  done,
  close,
}: {
  editing: Editing
  behind: CanvasNode | null
  handle?: string
  agents: readonly KnownAgent[] // the agents that a node can name
  done: (kind: Kind, handle: string, agent?: string) => void
  close: () => void
}) {
  const {c} = editing
  const handles = behind ? handlesOf(behind) : []
  const free = handles.find(h => h !== subagent && !c.edges.some(e => e.from === behind?.id && e.port === h))
  const [handle, setHandle] = useState(given ?? free ?? handles[0] ?? '')
  const hasStart = c.nodes.some(n => n.kind === 'start')
  const list = kindsOf(c.shape.format).filter(k => (handle === subagent ? k === 'agent' : k !== 'start' || !hasStart))
  return (
    <Dialog title={behind ? `Add behind ${clean(behind.name)}` : 'Add a node'} close={close}>
      {handles.length > 1 && (
        <Field label="Way out">
          <select className={control.select} value={handle} onChange={e => setHandle(e.target.value)}>
            {handles.map(h => (
              <option key={h} value={h}>
                {clean(handleWord(h, behind ? conditionsOf(behind) : []))}
              </option>
            ))}
          </select>
        </Field>
      )}
      <ul className={styles.list} aria-label="Kinds of nodes to add">
        {list.map((kind, i) => {
          const {word, hint, icon: Icon} = wordsOf[kind]
          return (
            <li key={kind}>
              <button
                type="button"
                className={styles.choice}
                data-first={(handles.length < 2 && i === 0) || undefined}
                onClick={() => done(kind, handle)}
              >
                <Icon size={15} aria-hidden="true" />
                <span className={styles.words}>
                  <span>{kind === 'agent' && c.shape.format === 'rounds' ? 'New agent' : word}</span>
                  <small>{hint}</small>
                </span>
              </button>
            </li>
          )
        })}
        {agents.map(a => (
          <li key={a.id}>
            <button type="button" className={styles.choice} onClick={() => done('agent', handle, a.id)}>
              <wordsOf.agent.icon size={15} aria-hidden="true" />
              <span className={styles.words}>
                <Line>{a.name === a.id ? a.id : `${a.name} (${a.id})`}</Line>
                <small>An agent of {a.from}</small>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

// GoTo finds a node by its name, id or kind, so that each is a few keystrokes away.
export function GoTo({editing, done, close}: {editing: Editing; done: (key: string) => void; close: () => void}) {
  const {c} = editing
  const [typed, setTyped] = useState('')
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const all = c.nodes.map(n => ({
    key: keyOf(c, n),
    n,
    text: `${n.name} ${n.id} ${kindWords(n.kind).word}`.toLowerCase(),
  }))
  const hits = all.filter(x => words.every(w => x.text.includes(w))).slice(0, mostHits)
  return (
    <Dialog title="Go to a node" close={close}>
      <form
        onSubmit={e => {
          e.preventDefault()
          if (hits[0]) done(hits[0].key)
        }}
      >
        <Field label="Name, id or kind" hint="Enter goes to the first one">
          <input className={control.input} value={typed} autoComplete="off" onChange={e => setTyped(e.target.value)} />
        </Field>
      </form>
      {hits.length === 0 && <p>There is no such node.</p>}
      <ul className={styles.list} aria-label="Nodes that were found">
        {hits.map(({key, n}) => {
          const {word, icon: Icon} = kindWords(n.kind)
          return (
            <li key={key}>
              <button type="button" className={styles.choice} onClick={() => done(key)}>
                <Icon size={15} aria-hidden="true" />
                <span className={styles.words}>
                  <Line>{n.name === n.id ? n.id : `${n.name} (${n.id})`}</Line>
                  <small>{word}</small>
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </Dialog>
  )
}

const mostHits = 50
