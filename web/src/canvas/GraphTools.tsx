import {Plus, Settings2} from 'lucide-react'
import {useState} from 'react'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {Dialog} from '../ui/Dialog.tsx'
import {Button, Field} from '../ui/parts.tsx'
import {addBranch, type Graphs} from './branches.ts'
import form from './TestRun.module.css'
import type {Editing} from './use_editing.ts'

type Props = {
  editing: Editing
  // errors are counted by the index of the branch; the errors of the main graph have the key null.
  errors: ReadonlyMap<number | null, number>
  show: (key: string) => void
  done: (g: Graphs) => boolean
  settings: () => void
  open: boolean // whether the settings are shown
}

// GraphTools select the graph of a document that is drawn, add branches, and open the form with the
// settings that belong to no node.
export function GraphTools({editing, errors, show, done, settings, open}: Props) {
  const {c, graphs, graph, readOnly} = editing
  const [adding, setAdding] = useState(false)
  const [name, setName] = useState('')
  const rounds = c.shape.format === 'rounds'
  const wordOf = (index: number | null, word: string) => {
    const n = errors.get(index) ?? 0
    return clean(n === 0 ? word : `${word} (${n === 1 ? '1 error' : `${n} errors`})`)
  }
  return (
    <>
      {rounds && (
        <>
          <select
            className={control.select}
            aria-label="Graph that is drawn"
            value={graph.key}
            onChange={e => show(e.target.value)}
          >
            {graphs.map(g => (
              <option key={g.key} value={g.key}>
                {wordOf(g.index, g.index === null ? 'Main graph' : `Branch ${g.name}`)}
              </option>
            ))}
          </select>
          {!readOnly && (
            <Button kind="quiet" title="Add a graph beside the main one" onClick={() => setAdding(true)}>
              <Plus size={16} /> Branch
            </Button>
          )}
        </>
      )}
      <Button kind="quiet" title="What belongs to no node (s)" aria-expanded={open} onClick={settings}>
        <Settings2 size={16} /> {graph.index === null ? 'Document' : 'Branch settings'}
      </Button>
      {adding && (
        <Dialog title="Add a branch" close={() => setAdding(false)}>
          <form
            className={form.form}
            onSubmit={e => {
              e.preventDefault()
              if (!done(addBranch(c, graphs, name))) return
              setAdding(false)
              setName('')
            }}
          >
            <Field
              label="Name of the branch"
              hint="It has its own nodes, rounds and schedule, and runs independently of the others"
            >
              <input className={control.input} value={name} onChange={e => setName(e.target.value)} />
            </Field>
            <div>
              <Button kind="primary" type="submit">
                Add the branch
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
