import {Link} from 'wouter'
import {Empty, Page} from '../ui/parts.tsx'

export function NotFound() {
  return (
    <Page title="Nothing is here">
      <Empty title="There is no page at this address">
        <Link href="/runs">Go to the runs</Link>
      </Empty>
    </Page>
  )
}
