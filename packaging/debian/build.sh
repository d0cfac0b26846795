#!/bin/bash
# Builds the Debian packages of the files that git knows, as they lie here, into build/package, and has lintian look at them.
#
# The maintainer that the packages name is whoever builds them: DEBFULLNAME and DEBEMAIL, or else who made the last commit.
# Usage: build.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/../.."

jobs=${1:-$(nproc)}
version=$(packaging/version.sh)
place=build/package
tree=$place/zlink-$version

of_last_commit() { git -c safe.directory="$PWD" log -1 --format="$1" 2> /dev/null || true; }

rm -rf "$place"
packaging/tree.sh "$tree"
cp -a "$tree/packaging/debian" "$tree/debian"
rm "$tree/debian/build.sh"

name=${DEBFULLNAME:-$(of_last_commit %an)}
address=${DEBEMAIL:-$(of_last_commit %ae)}
maintainer="${name:-$(id -un)} <${address:-$(id -un)@$(hostname)}>"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(of_last_commit %ct)}
: "${SOURCE_DATE_EPOCH:=$(stat -c %Y CHANGELOG.md)}"
sed -i "s|@MAINTAINER@|$(printf %s "$maintainer" | sed 's/[\\&|]/\\&/g')|" "$tree/debian/control"
cat > "$tree/debian/changelog" << END
zlink ($version-1) unstable; urgency=medium

  * Release $version. What has changed stands in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END

(cd "$tree" && DEB_BUILD_OPTIONS="nocheck parallel=$jobs ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -b -us -uc)
# Who builds for himself need not have an address, and Ubuntu knows no distribution "unstable".
lintian --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact,bad-distribution-in-changes-file --fail-on error "$place"/*.changes
rm -rf "$tree"
ls -l "$place"
