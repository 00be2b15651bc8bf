import {useQuery} from '@tanstack/react-query'
import {useState} from 'react'
import {Link} from 'wouter'
import {ApiError} from '../api/client.ts'
import {may} from '../api/session.ts'
import {useSession} from '../shell/session.ts'
import {Empty, ErrorBox, Loading, Page} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import {Editor} from './Editor.tsx'
import {unstoredIn} from './local_draft.ts'
import {readStored} from './stored.ts'
import {unstored} from './unstored.ts'

// EditPage loads a workflow once and opens it: later changes of other clients are shown when
// something is stored. A workflow that does not exist is opened if it was created in this browser,
// which keeps its text; text kept from a deleted workflow is not opened.
export default function EditPage({id}: {id: string}) {
  const who = useSession()
  const mayEdit = may(who, 'edit')
  const got = useQuery({
    queryKey: ['edit', id],
    queryFn: () => readStored(id, mayEdit),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const title = <Line>{id}</Line>
  const [isKept] = useState(() => unstoredIn(who.namespace).includes(id))
  const absent = got.error instanceof ApiError && got.error.status === 404
  const [first] = useState(() => unstored(id))
  if (absent && mayEdit && isKept) return <Editor id={id} stored={first} />
  if (got.error) {
    return (
      <Page title={title}>
        <ErrorBox error={got.error} again={() => void got.refetch()} />
      </Page>
    )
  }
  if (!got.data) {
    return (
      <Page title={title}>
        <Loading what="the document" />
      </Page>
    )
  }
  if (got.data.definition.version === null) {
    return (
      <Page title={title}>
        <Empty title="It has no document">
          <p>This workflow consists of rows of the tables, which other programs may write. It is edited there.</p>
          <Link href={`/workflows/${encodeURIComponent(id)}`}>The workflow</Link>
        </Empty>
      </Page>
    )
  }
  return <Editor id={id} stored={got.data} />
}
