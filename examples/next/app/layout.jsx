export const metadata = { title: 'Coffee' }
// The policy has a nonce of each request, so no page can be made before it.
export const dynamic = 'force-dynamic'

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <main>{children}</main>
      </body>
    </html>
  )
}
