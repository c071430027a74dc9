//! Has the macros for enums that hand their calls on, and for registries of names.

/// Implements a trait for an enum by handing each call on to the variant:
/// `impl Trait for Enum { Variant, … }`, and then the trait's methods.
#[doc(hidden)]
#[macro_export]
macro_rules! dispatch {
    (impl $trait:ident for $enum:ident $variants:tt
        $($(#[$meta:meta])* fn $name:ident $arguments:tt $(-> $answer:ty)?;)+) => {
        impl $trait for $enum {
            $($crate::dispatch!(@method $variants [$(#[$meta])*] $name $arguments [$(-> $answer)?]);)+
        }
    };
    (@method $variants:tt [$($meta:tt)*] $name:ident
        (&mut self $(, $argument:ident: $type:ty)* $(,)?) [$($answer:tt)*]) => {
        $($meta)*
        fn $name(&mut self $(, $argument: $type)*) $($answer)* {
            $crate::dispatch!(@call self $variants $name ($($argument),*))
        }
    };
    (@method $variants:tt [$($meta:tt)*] $name:ident
        (&self $(, $argument:ident: $type:ty)* $(,)?) [$($answer:tt)*]) => {
        $($meta)*
        fn $name(&self $(, $argument: $type)*) $($answer)* {
            $crate::dispatch!(@call self $variants $name ($($argument),*))
        }
    };
    (@call $this:ident {$($variant:ident),+ $(,)?} $name:ident $arguments:tt) => {
        match $this { $(Self::$variant(inner) => inner.$name $arguments),+ }
    };
}

/// Declares an enum with a variant for each type, and makes each type one of its values.
/// `$dispatch!` implements the trait that the types share.
macro_rules! any {
    ($(#[$about:meta])* pub enum $name:ident by $dispatch:ident { $($type:ident),+ $(,)? }) => {
        $(#[$about])*
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each variant is the type of its name")]
        #[allow(clippy::large_enum_variant, reason = "no allocation, so nothing can be boxed")]
        pub enum $name {
            $($type($type)),+
        }

        $(impl From<$type> for $name {
            fn from(one: $type) -> Self {
                Self::$type(one)
            }
        })+

        $dispatch!($name { $($type),+ });
    };
}
pub(crate) use any;

/// Makes the lines of a registry of what builds `$of`. Each line has an id, a name, a summary, a
/// source, parameters, and a constructor, which sees each parameter's value under its name; after
/// `where` stands what must hold between them.
macro_rules! entries {
    ($of:ty {$(
        $id:literal, $name:literal, $summary:literal, $source:literal,
        ($($parameter:ident = $spec:expr),* $(,)?) => $new:expr $(, where $relation:expr)?;
    )+}) => {
        &[$(
            $crate::registry::Entry::<$of>::new(
                ($id, $name),
                $summary,
                $source,
                &[$($spec.named(stringify!($parameter))),*],
                |values| {
                    let _ = values;
                    $(let $parameter = values.value(stringify!($parameter));)*
                    $(let true = $relation else {
                        return Err(stringify!($relation));
                    };)?
                    Ok(From::from($new))
                },
            ),
        )+]
    };
}
pub(crate) use entries;

/// Declares the only registry of a module: `Entry`, `REGISTRY` with [these lines](entries), and
/// `find`.
macro_rules! registry {
    ($(#[$about:meta])* $of:ty { $($lines:tt)+ }) => {
        /// One line of the registry.
        pub type Entry = $crate::registry::Entry<$of>;

        $(#[$about])*
        pub static REGISTRY: &[Entry] = $crate::macros::entries!($of { $($lines)+ });

        /// Finds the line of that id.
        pub fn find(id: &str) -> Option<&'static Entry> {
            REGISTRY.iter().find(|entry| entry.id == id)
        }
    };
}
pub(crate) use registry;
