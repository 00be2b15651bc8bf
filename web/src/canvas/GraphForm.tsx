import {FileJson2, GitBranch, Spline} from 'lucide-react'
import {useMemo} from 'react'
import {Button} from '../ui/parts.tsx'
import {Text} from '../ui/Text.tsx'
import {bound} from './bound.ts'
import {type Graphs, removeBranch, renameBranch} from './branches.ts'
import type {CanvasEdge} from './document.ts'
import {Scopes} from './Expression.tsx'
import {FormField, NameInput, Raw} from './Forms.tsx'
import styles from './Inspector.module.css'
import {FormHead, recordOf, Troubles, useOthers, useSorted} from './Inspector.tsx'
import type {Problem} from './problem.ts'
import {handleWord} from './rules.ts'
import {drawnKeys, edgeEnds, edgeFields, graphFields} from './schema.ts'
import type {Editing} from './use_editing.ts'

type Props = {
  editing: Editing
  schema: unknown
  problems: readonly Problem[]
  openText: (range: {from: number; to: number}) => void
  change: (g: Graphs) => boolean
  show: (key: string) => void
  close: () => void
}

// GraphForm has a field for each key of the document, or of the drawn branch, that belongs to no
// node.
export function GraphForm({editing, schema, problems, openText, change, show, close}: Props) {
  const {c, graph, graphs, readOnly} = editing
  const branch = graph.index !== null
  const fields = useMemo(() => graphFields(schema, branch), [schema, branch])
  const b = bound(editing, c.shape.graph, `graph ${graph.key}`)
  const data = recordOf(b.value)
  const scope = useMemo(() => ({c, node: null, schema}), [c, schema])
  const {shown, more} = useSorted(branch ? 'branch' : c.shape.format, fields, data)
  const rest = useOthers(fields, data, branch ? [...drawnKeys, 'id'] : drawnKeys)
  return (
    <section className={styles.inspector} data-inspector aria-label={branch ? 'Branch' : 'Document'}>
      <FormHead
        icon={branch ? <GitBranch size={16} aria-hidden="true" /> : <FileJson2 size={16} aria-hidden="true" />}
        title={branch ? `Branch ${graph.name}` : 'Document'}
        close={close}
      />
      <div className={styles.body}>
        {problems.length > 0 && <Troubles list={problems} openText={openText} />}
        {branch && (
          <NameInput
            label="Branch id"
            name={graph.id}
            readOnly={readOnly}
            rename={id => change(renameBranch(c, graphs, graph, id))}
          />
        )}
        <Scopes value={scope}>
          {shown.map(f => (
            <FormField key={f.key} field={f} bound={b} root={schema} />
          ))}
          {more.length > 0 && (
            <details className={styles.more}>
              <summary>{more.length} more</summary>
              {more.map(f => (
                <FormField key={f.key} field={f} bound={b} root={schema} />
              ))}
            </details>
          )}
        </Scopes>
        {rest.map(k => (
          <Raw key={k} name={k} bound={b.child(k)} />
        ))}
        {!branch && graphs.length > 1 && (
          <>
            <h3>Branches</h3>
            <ul className={styles.branches}>
              {graphs.slice(1).map(g => (
                <li key={g.key}>
                  <button type="button" className={styles.jump} onClick={() => show(g.key)}>
                    <Text>{g.name}</Text>
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
        {branch && !readOnly && (
          <Button kind="danger" onClick={() => change(removeBranch(c, graph))}>
            Delete the branch
          </Button>
        )}
      </div>
    </section>
  )
}

type EdgeProps = {editing: Editing; edge: CanvasEdge; schema: unknown; close: () => void}

// EdgeForm has a field for each key of an edge, apart from its ends.
export function EdgeForm({editing, edge, schema, close}: EdgeProps) {
  const {c} = editing
  const fields = useMemo(() => edgeFields(schema), [schema])
  const b = bound(editing, [...c.shape.edges, edge.index], `edge ${c.shape.graph.join(' ')} ${edge.index}`)
  const rest = useOthers(fields, recordOf(b.value), edgeEnds)
  const from = c.byID.get(edge.from)
  const conditions = Array.isArray(from?.data.conditions) ? from.data.conditions : []
  return (
    <section className={styles.inspector} data-inspector aria-label="Edge">
      <FormHead icon={<Spline size={16} aria-hidden="true" />} title={`${edge.from} to ${edge.to}`} close={close} />
      <div className={styles.body}>
        <p className={styles.quiet}>
          <Text>{`By ${handleWord(edge.port, conditions)}`}</Text>
        </p>
        {fields.map(f => (
          <FormField key={f.key} field={f} bound={b} root={schema} />
        ))}
        {rest.map(k => (
          <Raw key={k} name={k} bound={b.child(k)} />
        ))}
      </div>
    </section>
  )
}
