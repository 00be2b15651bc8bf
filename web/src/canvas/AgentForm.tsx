import {useId, useMemo} from 'react'
import {clean} from '../lib/hostile.ts'
import control from '../ui/control.module.css'
import {type Catalog, knownAgents, whereIs} from './agents.ts'
import {bound} from './bound.ts'
import {agentOf, type CanvasNode} from './document.ts'
import {nameAgent, renameAgent} from './document_agents.ts'
import {FormField, NameInput, Raw} from './Forms.tsx'
import styles from './Inspector.module.css'
import {recordOf, useOthers, useSorted} from './Inspector.tsx'
import {agentFields} from './schema.ts'
import type {Editing} from './use_editing.ts'

type Props = {editing: Editing; node: CanvasNode; schema: unknown; catalog: Catalog}

const fresh = '\u0000new'

// AgentOfNode selects the agent that a node of a rounds document runs. An agent that the document
// itself defines is edited together with the node.
export function AgentOfNode({editing, node, schema, catalog}: Props) {
  const {c, act, readOnly} = editing
  const id = useId()
  const asked = agentOf(node)
  const own = c.agents.find(a => a.id === asked)
  const agents = useMemo(() => knownAgents(c, catalog.agents), [c, catalog])
  const where = whereIs(c, catalog, asked)
  const listed = asked === '' || agents.some(a => a.id === asked)
  return (
    <>
      <div className={styles.field} data-key="agentId">
        <label htmlFor={id}>Agent</label>
        <select
          id={id}
          className={control.select}
          disabled={readOnly}
          value={asked}
          aria-describedby={`${id}-hint`}
          onChange={e => act(nameAgent(c, node.index, e.target.value === fresh ? null : e.target.value))}
        >
          {asked === '' && <option value="">choose one</option>}
          {!listed && <option value={asked}>{clean(where.missing ? `${asked} (not found)` : asked)}</option>}
          {(['the document', 'the catalog'] as const).map(from => (
            <optgroup key={from} label={`Agents of ${from}`}>
              {agents
                .filter(a => a.from === from)
                .map(a => (
                  <option key={a.id} value={a.id}>
                    {clean(a.name === a.id ? a.id : `${a.name} (${a.id})`)}
                  </option>
                ))}
            </optgroup>
          ))}
          <option value={fresh}>a new agent of the document</option>
        </select>
        <small id={`${id}-hint`}>{where.word}</small>
      </div>
      {own && <AgentForm key={own.index} editing={editing} index={own.index} schema={schema} />}
    </>
  )
}

// AgentForm has a field for each key of an agent that a document defines.
export function AgentForm({editing, index, schema}: {editing: Editing; index: number; schema: unknown}) {
  const {c, act, readOnly} = editing
  const agent = c.agents.find(a => a.index === index)
  const b = bound(editing, ['agents', index], `agent ${agent?.id ?? index}`)
  const data = recordOf(b.value)
  const fields = useMemo(() => agentFields(schema), [schema])
  const {shown, more} = useSorted('documentAgent', fields, data)
  const rest = useOthers(fields, data, ['id'])
  return (
    <fieldset className={styles.agent}>
      <legend>The agent</legend>
      <NameInput
        label="Agent name in the document (id)"
        name={agent?.id ?? ''}
        readOnly={readOnly}
        rename={id => act(renameAgent(c, index, id))}
      />
      {shown.map(f => (
        <FormField key={f.key} field={f} bound={b} root={schema} />
      ))}
      {more.length > 0 && (
        <details className={styles.more}>
          <summary>{more.length} more of the agent</summary>
          {more.map(f => (
            <FormField key={f.key} field={f} bound={b} root={schema} />
          ))}
        </details>
      )}
      {rest.map(k => (
        <Raw key={k} name={k} bound={b.child(k)} />
      ))}
    </fieldset>
  )
}
